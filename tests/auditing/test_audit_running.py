"""Mechanisms in worker processes: independent runs, and failures that name their input."""

from __future__ import annotations

import functools
import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import duckdb
import numpy as np
import pytest

from corrdp.auditing import workers
from corrdp.auditing import workers as groups
from corrdp.auditing.audit import reader
from corrdp.auditing.commands import Command
from corrdp.auditing.outputs import gathered, joined, within
from corrdp.auditing.running import collect
from corrdp.auditing.samples import read_outputs
from corrdp.errors import DataError, InputError
from corrdp.mechanisms.laplace import Laplace
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.response import BinaryResponse
from corrdp.queries import Count


def generator(seed=1):
    return np.random.default_rng(seed)


def noisy(x, rng):
    return x + rng.laplace()


def only_zero(x, rng):
    if x == 7:
        raise ZeroDivisionError("seven")
    return x


def dies(x, rng):
    if x == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def leaves(x, rng):
    if x == 7:
        sys.exit(5)
    return x


def hangs(x, rng):
    if x == 7:
        time.sleep(60)
    return x


def nan_at_seven(x, rng):
    return float("nan") if x == 7 else float(x)


def nothing_at_seven(x, rng):
    return None if x == 7 else x


def wide(x, rng):
    return 10 * x


class Vector:
    """``sample`` of many inputs at once."""

    def __init__(self, at=None):
        self.at = at

    def sample(self, x, rng):
        if self.at is not None and (x == self.at).any():
            raise ArithmeticError("cannot take this one")
        return x + rng.normal(size=len(x))


class Short(Vector):
    def sample(self, x, rng):
        return x[1:] if len(x) > 1 else x[:0]


class Killed(Vector):
    def sample(self, x, rng):
        if (x == 7).any():
            os.abort()
        return x


# -- what comes back ---------------------------------------------------------------------------


def test_inputs_are_run_equally_often_and_outputs_belong_to_them():
    samples, complete = collect(lambda x, rng: (x, rng.random()), "abc", 3_001, generator())
    assert complete
    assert samples.counts.tolist() in ([1001, 1000, 1000], [1000, 1001, 1000], [1000, 1000, 1001])
    given = [samples.inputs[w] for w in samples.which]
    assert given == [output[0] for output in samples.outputs]
    assert len({output[1] for output in samples.outputs}) == 3_001  # no draw comes twice


@pytest.mark.parametrize("mechanism", [noisy, Vector()], ids=["callable", "vectorised"])
def test_the_result_depends_on_the_seed_and_not_on_jobs(mechanism):
    one, _ = collect(mechanism, (0, 1), 5_000, generator(3), jobs=1)
    two, _ = collect(mechanism, (0, 1), 5_000, generator(3), jobs=3)
    other, _ = collect(mechanism, (0, 1), 5_000, generator(4))
    np.testing.assert_array_equal(one.outputs, two.outputs)
    np.testing.assert_array_equal(one.which, two.which)
    assert not np.array_equal(one.outputs, other.outputs)


def test_the_law_of_the_outputs_is_that_of_the_mechanism():
    samples, _ = collect(noisy, (0, 10), 6_000, generator(), jobs=2)
    for number, mean in enumerate((0, 10)):
        outputs = samples.outputs[samples.which == number]
        # 4.9 standard errors: fails once in a million correct programs
        assert abs(outputs.mean() - mean) < 4.9 * np.sqrt(2 / len(outputs))


def test_global_generators_are_seeded_anew_in_every_process():
    def numpy_global(x, rng):
        return np.random.random()  # noqa: NPY002

    def python_global(x, rng):
        return random.random()

    for mechanism in (numpy_global, python_global):
        samples, _ = collect(mechanism, (0, 1), 4_000, generator())
        assert len(set(samples.outputs.tolist())) == 4_000


def test_whole_data_sets_are_inputs_of_a_mechanism_with_a_query():
    mechanism = Laplace(Count(1), scale=0.01)
    samples, _ = collect(mechanism, ((0, 0), (0, 1)), 200, generator())
    np.testing.assert_allclose(samples.outputs, samples.which, atol=0.2)


def test_binary_response_is_vectorised():
    samples, _ = collect(BinaryResponse.for_epsilon(1.0), (0, 1), 20_000, generator())
    wrong = (samples.outputs != samples.which).mean()
    rate = 1 / (1 + np.e)
    assert abs(wrong - rate) < 4.9 * np.sqrt(rate * (1 - rate) / 20_000)


def test_a_fresh_interpreter_serves_as_well(monkeypatch):
    monkeypatch.setattr(workers, "START", "spawn")
    samples, _ = collect(noisy, (0, 1), 100, generator(5))
    monkeypatch.setattr(workers, "START", "fork")
    same, _ = collect(noisy, (0, 1), 100, generator(5))
    np.testing.assert_array_equal(samples.outputs, same.outputs)
    monkeypatch.setattr(workers, "START", "spawn")
    with pytest.raises(InputError, match="cannot be sent to a worker process"):
        collect(lambda x, rng: x, (0, 1), 100, generator())


def test_progress_draws_a_bar_and_changes_nothing(capfd):
    one, _ = collect(noisy, (0, 1), 100, generator(3), progress=True)
    two, _ = collect(noisy, (0, 1), 100, generator(3))
    np.testing.assert_array_equal(one.outputs, two.outputs)
    assert not capfd.readouterr().out


# -- failures ----------------------------------------------------------------------------------


FAILURES = {
    "exception": (only_zero, "failed on input 7: ZeroDivisionError: seven .test_audit_running.py"),
    "killed": (dies, "failed on input 7: its process was killed by SIGKILL"),
    "exit": (leaves, "failed on input 7: SystemExit: 5"),
    "nan": (nan_at_seven, "NaN on input 7"),
    "none": (nothing_at_seven, r"nothing \(None\) on input 7"),
    "vectorised": (Vector(at=7), "failed on input 7: ArithmeticError: cannot take this one"),
    "vectorised, killed": (Killed(), "failed on input 7: its process was killed by SIGABRT"),
    "vectorised, short": (Short(), r"failed on input \d: InputError: .* 0 outputs for 1"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_name_the_input(name):
    mechanism, told = FAILURES[name]
    for jobs in (1, 2):
        with pytest.raises(DataError, match=told):
            collect(mechanism, range(10), 3_000, generator(), jobs=jobs)


def test_a_run_that_never_ends_is_named():
    with pytest.raises(DataError, match=r"did not answer input 7 for \d"):
        collect(hangs, range(10), 3_000, generator(), time_limit=2.5)


def test_outputs_outside_the_declared_range_are_named():
    with pytest.raises(DataError, match="put out 70 on input 7, outside the declared range 0 to 6"):
        collect(wide, range(6, 8), 100, generator(), read=within(0, 60))
    with pytest.raises(DataError, match="declares numbers"):
        collect(lambda x, rng: "yes", (0, 1), 100, generator(), read=within(0, 60))


def test_a_generator_of_its_own_that_starts_anew_is_found():
    own = np.random.default_rng(0)

    def repeated(x, rng):
        return x + own.integers(10)

    with pytest.raises(DataError, match="two processes put out the same 1000 outputs"):
        collect(repeated, (0, 1), 4_000, generator())
    # the end of the runs is a shorter batch
    with pytest.raises(DataError, match="two processes put out the same 500 outputs"):
        collect(repeated, (0, 1), 1_500, generator())


@pytest.mark.parametrize("m", [2, 3_000])
def test_a_deterministic_mechanism_is_no_repetition(m):
    samples, _ = collect(lambda x, rng: x, range(m), 3 * m + 5_000, generator())
    np.testing.assert_array_equal(samples.outputs, samples.which)


BAD = {
    "one input": ((0,), {}, "two inputs or more"),
    "no runs": ((0, 1), {"runs": 0}, "runs must be a whole number above 0"),
    "runs a float": ((0, 1), {"runs": 1e3}, "runs must be a whole number"),
    "fewer runs than inputs": (range(10), {"runs": 9}, "too few for any verdict"),
    "no jobs": ((0, 1), {"jobs": 0}, "jobs must be a whole number above 0"),
    "no time": ((0, 1), {"time_limit": 0}, "time_limit must be a finite number > 0"),
    "the same input twice": ((0, 0), {}, "inputs must differ"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    inputs, options, told = BAD[name]
    with pytest.raises(InputError, match=told):
        collect(noisy, inputs, options.pop("runs", 10), generator(), **options)


def test_what_is_no_mechanism_is_refused():
    with pytest.raises(InputError, match="mechanism must be a callable"):
        collect(3, (0, 1), 10, generator())


# -- stopping ----------------------------------------------------------------------------------


def test_the_time_limit_keeps_what_was_made():
    def slow(x, rng):
        time.sleep(0.002)
        return x + rng.normal()

    began = time.monotonic()
    samples, complete = collect(slow, (0, 1), 10**6, generator(), jobs=2, time_limit=1.2)
    assert time.monotonic() - began < 10
    assert not complete
    assert 20 < samples.runs < 2_000
    assert abs(samples.counts[0] - samples.counts[1]) <= 2  # one per batch that was begun
    assert len(set(samples.outputs.tolist())) == samples.runs


def test_too_little_time_is_said():
    def slow(x, rng):
        time.sleep(0.3)
        return x

    with pytest.raises(DataError, match="too early for any verdict"):
        collect(slow, range(500), 1_000, generator(), time_limit=0.9)


def test_ctrl_c_keeps_what_was_made(tmp_path):
    (tmp_path / "stopped.py").write_text(
        textwrap.dedent(
            """
            import os, sys, time
            import numpy as np
            from corrdp.auditing.running import collect

            def slow(x, rng):
                time.sleep(.002)
                os.write(ran, b".")
                return x + rng.normal()

            ran = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            samples, complete = collect(slow, (0, 1), 10**6, np.random.default_rng(1), jobs=2)
            print(complete, samples.runs > 10, samples.runs)
            """
        )
    )
    child = subprocess.Popen(
        [sys.executable, tmp_path / "stopped.py", tmp_path / "ran"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    ran = tmp_path / "ran"
    while child.poll() is None and not (ran.exists() and ran.stat().st_size > 500):
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    out, err = child.communicate(timeout=120)
    assert out.startswith("False True"), err
    assert not err


# -- commands ----------------------------------------------------------------------------------


HEAD = """
import os, random, sys, time
rng = random.Random(os.environ["CORRDP_SEED"])
for line in sys.stdin:
    x = int(line)
"""


def program(folder, body: str, head: str = HEAD) -> Command:
    path = folder / "program.py"
    path.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
    return Command(f"{sys.executable} {path}")


def test_a_command_is_run_and_seeded(tmp_path):
    command = program(tmp_path, "print(x + rng.gauss(0, 1))")
    one, complete = collect(command, (0, 1), 3_000, generator(2))
    two, _ = collect(command, (0, 1), 3_000, generator(2), jobs=2)
    assert complete
    assert one.outputs.dtype == float
    np.testing.assert_array_equal(one.outputs, two.outputs)
    assert len(set(one.outputs.tolist())) == 3_000
    assert not list(tmp_path.glob("corrdp-audit-*"))


@pytest.mark.parametrize(
    ("body", "first", "second"),
    [
        ("print(x, 3)", (0, 3), (1, 3)),
        ("print(f'{x},2.5')", (0, 2.5), (1, 2.5)),
        ("print('yes' if x else 'no')", "no", "yes"),
        ("print('a b' if x else 'no')", "no", "a b"),
        ("sys.stdout.write(('' if first else chr(10)) + str(x)); first = False", 0, 1),
    ],
    ids=["blanks", "commas", "texts", "texts with blanks", "no line end at the end"],
)
def test_lines_are_read_as_outputs(tmp_path, body, first, second):
    command = program(tmp_path, body, HEAD.replace("for line", "first = True\nfor line"))
    samples, _ = collect(command, (0, 1), 60, generator())
    for number, expected in enumerate((first, second)):
        for output in samples.outputs[samples.which == number]:
            assert (tuple(output) if isinstance(expected, tuple) else output) == expected


COMMAND_FAILURES = {
    "dies": (
        "if x == 7: raise KeyError('seven')\nprint(x)",
        r"failed on input 7: the program died \(exit code 1\) after 0 lines .*KeyError: 'seven'",
    ),
    "is killed": (
        "if x == 7: os.kill(os.getpid(), 9)\nprint(x)",
        r"failed on input 7: the program died \(SIGKILL\)",
    ),
    "too few lines": (
        "if x != 7: print(x)",
        "failed on input 7: the program ended after 0 lines for 1 input",
    ),
    "too many lines": (
        "print(x)\nif x == 7: print('warning')",
        "failed on input 7: the program wrote more than 1 line for 1 input",
    ),
    "empty line": ("print('' if x == 7 else x)", r"nothing \(None\) on input 7"),
    "nan": ("print('nan' if x == 7 else x)", "NaN on input 7"),
    "fixed seed": (
        "fixed = globals().setdefault('fixed', random.Random(0))\nprint(x + fixed.random())",
        "two processes put out the same 1000 outputs",
    ),
}


@pytest.mark.parametrize("name", COMMAND_FAILURES)
def test_failures_of_a_command_name_the_input(tmp_path, name):
    body, told = COMMAND_FAILURES[name]
    with pytest.raises(DataError, match=told):
        collect(program(tmp_path, body), range(10), 2_000, generator())


def test_a_command_that_fails_now_and_then_is_not_passed_over(tmp_path):
    flag = tmp_path / "failed"
    body = f"""
    if x == 7 and not os.path.exists({str(flag)!r}):
        open({str(flag)!r}, 'w')
        sys.exit(3)
    print(x, flush=True)
    """
    with pytest.raises(DataError, match=r"exit code 3.* No input was found"):
        collect(program(tmp_path, body), range(10), 100, generator())


def test_a_command_that_hangs_is_named_and_ended(tmp_path):
    body = "if x == 7:\n    time.sleep(60)\nprint(x, flush=True)"
    command = program(tmp_path, body)
    began = time.monotonic()
    with pytest.raises(DataError, match=r"then nothing for .* perhaps on input 7"):
        collect(command, range(10), 1_000, generator(), time_limit=2.5)
    assert time.monotonic() - began < 15
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(tmp_path) not in running.stdout


def test_a_command_stopped_by_time_keeps_its_lines(tmp_path):
    command = program(tmp_path, "time.sleep(.01)\nprint(x + rng.random(), flush=True)")
    samples, complete = collect(command, (0, 1), 10_000, generator(), time_limit=1.5)
    assert not complete
    assert 5 < samples.runs < 500


CHILD = "import os, sys, time; time.sleep(60)  # {}"


def alive(mark) -> bool:
    """Whether a process whose command line holds the mark runs: the killed take a moment."""
    for _ in range(40):
        listed = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True)
        lines = [line for line in listed.stdout.splitlines() if str(mark) in line]
        if all(line.startswith("Z") for line in lines):
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("ends", ["hangs", "ends"])
def test_what_a_program_leaves_behind_is_ended(tmp_path, ends):
    head = f"""
    import subprocess, sys, time
    subprocess.Popen([sys.executable, "-c", {CHILD.format(tmp_path)!r}])
    {"time.sleep(60)" if ends == "hangs" else ""}
    for line in sys.stdin:
    """
    command = program(tmp_path, "print(line, end='')", textwrap.dedent(head))
    if ends == "hangs":
        with pytest.raises(DataError, match="then nothing for"):
            collect(command, (0, 1), 100, generator(), time_limit=1.2)
    else:
        collect(command, (0, 1), 100, generator())
    assert not alive(tmp_path)


@pytest.mark.parametrize("ends", ["hangs", "dies", "ends"])
def test_what_a_function_leaves_behind_is_ended(tmp_path, ends):
    def starts_another(x, rng):
        if x == 1 and not (tmp_path / "started").exists():
            (tmp_path / "started").touch()
            # the child keeps every open file of its parent, also the one that says it has ended
            subprocess.Popen([sys.executable, "-c", CHILD.format(tmp_path)], close_fds=False)
        if x == 1 and ends == "hangs":
            time.sleep(60)
        if x == 1 and ends == "dies":
            os._exit(3)
        return x + rng.random()

    if ends == "ends":
        collect(starts_another, (0, 1), 100, generator())
    else:
        told = {"hangs": "did not answer input 1", "dies": "its process ended with code 3"}[ends]
        with pytest.raises(DataError, match=told):
            collect(starts_another, (0, 1), 100, generator(), time_limit=5)
    assert not alive(tmp_path)


def test_a_program_may_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "MOST_OUTPUT", 2**20)
    for body in ("print('x' * 2**21)", "sys.stderr.write('x' * 2**21); print(x)"):
        with pytest.raises(DataError, match=r"wrote more than 1 MiB"):
            collect(program(tmp_path, body), (0, 1), 100, generator())


def test_memory_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "most_memory", lambda: 2**28)

    def greedy(x, rng):
        return np.ones(2**28).sum()

    with pytest.raises(DataError, match=r"failed on input .: .*MemoryError"):
        collect(greedy, (0, 1), 100, generator())
    with pytest.raises(DataError, match=r"failed on input .: .*MemoryError"):
        collect(program(tmp_path, "print(len(bytearray(2**34)))"), (0, 1), 100, generator())
    assert collect(noisy, (0, 1), 100, generator())[1]


def test_a_crash_is_told_once_and_dumps_nothing(tmp_path):
    """Whoever runs with faulthandler on, as pytest does, would else see a dump for each crash."""
    path = tmp_path / "crash.py"
    path.write_text(
        textwrap.dedent(
            """
            import faulthandler, os
            import numpy as np
            from corrdp.auditing.running import collect

            faulthandler.enable()
            try:
                collect(lambda x, rng: os.abort(), (0, 1), 100, np.random.default_rng(1))
            except Exception as error:
                print(error)
            """
        )
    )
    made = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path)
    assert "killed by SIGABRT" in made.stdout
    assert not made.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["crash.py"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a command is a program"),
        ("no-such-program-here x", "cannot run 'no-such-program-here': No such file"),
        ("python 'open", "cannot read the command"),
        (3, "a command is a program"),
    ],
)
def test_commands_that_cannot_run(text, told):
    with pytest.raises(InputError, match=told):
        collect(Command(text), (0, 1), 10, generator())


def test_an_input_must_fit_on_a_line():
    with pytest.raises(InputError, match="does not fit on a line"):
        collect(Command("cat"), ("a", "b\nc"), 10, generator())


# -- outputs -----------------------------------------------------------------------------------


def test_outputs_are_gathered_without_loss():
    assert gathered([True, False]).dtype == bool
    assert gathered([1, 2**63 + 1]).tolist() == [1, 2**63 + 1]
    assert gathered([[1, 2**63 + 1]]).tolist() == [[1, 2**63 + 1]]
    assert gathered([0.5, 2**60 + 1]).tolist() == [0.5, 2**60 + 1]
    assert gathered([0.5, 2.0**60]).dtype == float
    assert gathered([1, 2**70]).tolist() == [1, 2**70]
    assert gathered([[1, 2], [3]]).tolist() == [(1, 2), (3,)]
    assert gathered([{1, 2}, {3}]).tolist() == [frozenset({1, 2}), frozenset({3})]
    assert gathered([np.array([1, 2]), "x"]).tolist() == [(1, 2), "x"]
    assert joined([gathered([2**60 + 1]), gathered([0.5])]).tolist() == [2**60 + 1, 0.5]
    assert joined([gathered([1]), gathered([0.5])]).dtype == float
    assert joined([gathered([[1, 2]]), gathered([3])]).tolist() == [(1, 2), 3]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_own_reports_pass_the_reader(name):
    own = protocol(name, 20, 1.0)
    values = np.arange(20)
    reports = own.sample(values, generator())
    np.testing.assert_array_equal(reader(own)(values, reports), reports)


@pytest.mark.parametrize("name", ["ss", "sue", "oue", "the"])
def test_bits_are_packed(name):
    own = protocol(name, 20, 1.0)
    reports = own.sample(np.arange(20), generator())
    bits = np.unpackbits(reports, axis=1, count=20)
    read = functools.partial(reader(own), range(20))
    for form in (bits, bits.astype(bool), bits.astype(float), gathered(bits.tolist())):
        np.testing.assert_array_equal(read(form), reports)
    if name == "ss":
        named = [set(np.flatnonzero(row).tolist()) for row in bits]
        np.testing.assert_array_equal(read(gathered(named)), reports)
        lists = gathered([sorted(values) for values in named])
        np.testing.assert_array_equal(read(lists), reports)


@pytest.mark.parametrize(
    ("name", "output", "told"),
    [
        ("grr", 20, "no report of GRR.*not among the states"),
        ("grr", 0.5, "no report of GRR"),
        ("grr", "x", "no report of GRR"),
        ("oue", [0] * 19, "20 zeros and ones, and this has 19"),
        ("oue", [2] * 20, "20 zeros and ones, and one of its numbers is 2"),
        ("ss", [1, 2, 3, 4, 5, 6], "no report of SS"),
        ("ss", [1, 2, 3, 4, 20], r"20 is not among the states 0\.\.19"),
        ("she", [0.5] * 19, "no report of SHE"),
        ("olh", [1, 9], "no report of OLH"),
        ("blh", [1], "no report of BLH"),
    ],
)
def test_what_is_no_report_is_named(name, output, told):
    broken = functools.partial(_mostly, protocol(name, 20, 1.0), output)
    with pytest.raises(DataError, match=rf"(?s)put out .* on input 7, .*{told}"):
        collect(broken, range(20), 200, generator(), read=reader(protocol(name, 20, 1.0)))


def _mostly(own, output, x, rng):
    """Reports of the protocol, as lists; the given output on input 7."""
    report = own.sample(np.array([x]), rng)[0]
    if own.__class__.__name__ in ("SS", "OUE"):
        report = np.unpackbits(report, count=own.k)
        if own.__class__.__name__ == "SS":
            report = np.flatnonzero(report)
    return output if x == 7 else report.tolist()


# -- recorded outputs --------------------------------------------------------------------------


def written(folder, text, name="outputs.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_csv_and_parquet_say_the_same(tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    text = "input,output\n" + "".join(f"{k % 3},{k * 0.5}\n" for k in range(30))
    csv = written(tmp_path, text)
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(csv), tmp_path / "outputs.parquet")
    one, two = read_outputs(csv), read_outputs(tmp_path / "outputs.parquet")
    assert one.inputs == two.inputs == (0, 1, 2)
    np.testing.assert_array_equal(one.which, np.arange(30) % 3)
    np.testing.assert_array_equal(one.outputs, np.arange(30) * 0.5)
    np.testing.assert_array_equal(two.outputs, one.outputs)


def test_columns_can_be_named_and_many(tmp_path):
    path = written(tmp_path, "who,output_1,output_2\na,1,2\nb,3,4\n")
    assert read_outputs(path, input="who").outputs.tolist() == [[1, 2], [3, 4]]
    assert read_outputs(path, input="who", output="output_2").outputs.tolist() == [2, 4]
    assert read_outputs(path, input="who", output=["output_2", "output_1"]).outputs.tolist() == [
        [2, 1],
        [4, 3],
    ]


def test_texts_and_lists_are_outputs(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    path = written(tmp_path, "input,output\na,left\nb,right\n")
    assert read_outputs(path).outputs.tolist() == ["left", "right"]
    table = pa.table({"input": [0, 1], "output": [[0, 1], [1, 1]]})
    pyarrow.parquet.write_table(table, tmp_path / "lists.parquet")
    assert read_outputs(tmp_path / "lists.parquet").outputs.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("input,output\n", "a header and no rows"),
        ("x,output\n0,1\n1,1\n", "no column 'input'; it has x, output"),
        ("input,y\n0,1\n1,1\n", "no column 'output'.* it has input, y"),
        ("input,output_1,output_3\n0,1,1\n1,1,1\n", "without a gap"),
        ("input,output\n0,1\n0,1\n", "every row has the same input"),
        ("input,output\n0,1\n1,\n1,2\n", "1 of 3 rows have no output .* the first is row 2"),
        ("input,output\n0,1\n1,NaN\n1,2\n", "1 of 3 rows have no output .* the first is row 2"),
        ("input,output\n0,1\n,1\n1,2\n", "1 of 3 rows have no input .* the first is row 2"),
        ("input,output_1,output_2\n0,1,a\n1,2,b\n", "column 'output_2' of a vector holds texts"),
    ],
)
def test_files_that_cannot_be_audited(tmp_path, text, told):
    with pytest.raises(DataError, match=told):
        read_outputs(written(tmp_path, text))


def test_files_that_do_not_exist(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_outputs(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="name a column or more"):
        read_outputs(written(tmp_path, "input,output\n0,1\n1,1\n"), output=[])


def collecting(value, rng):
    gc.collect()
    return value


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_what_the_parent_has_thrown_away_does_not_end_a_worker():
    """A database whose threads are in the parent: its end would wait for them, and crash."""
    gc.disable()
    try:
        kept = [duckdb.connect(config={"threads": 4})]
        kept[0].execute("SELECT sum(i) FROM range(1_000_000) t(i)").fetchall()
        kept.append(kept)  # only the collector can find it now
        del kept
        samples, complete = collect(collecting, (0, 1), 100, generator(3))
    finally:
        gc.enable()
    assert complete
    assert len(samples.outputs) == 100
