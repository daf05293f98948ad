"""The vocabulary of the gate: what an expression may hold, and why not what it may not.

A function is added here after a look at what it computes: one value from one row, the same every
time, without growing what it is given beyond reason.
"""

from __future__ import annotations

OPERATORS = {
    "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN",
    "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM",
    "COMPARE_NOT_DISTINCT_FROM", "COMPARE_BETWEEN", "COMPARE_IN", "COMPARE_NOT_IN",
    "CONJUNCTION_AND", "CONJUNCTION_OR", "OPERATOR_NOT", "OPERATOR_IS_NULL",
    "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_NULLIF", "CASE_EXPR",
}  # fmt: skip
FUNCTIONS = {
    # arithmetic
    "+", "-", "*", "/", "//", "%", "**", "^", "&", "|", "~", "<<", ">>", "abs", "add", "ceil",
    "ceiling", "divide", "even", "exp", "fdiv", "floor", "fmod", "greatest", "least", "ln", "log",
    "log10", "log2", "mod", "multiply", "pow", "power", "round", "round_even", "roundbankers",
    "sign", "sqrt", "cbrt", "subtract", "trunc", "xor", "isfinite", "isinf", "isnan", "gcd", "lcm",
    "greatest_common_divisor", "least_common_multiple", "degrees", "radians", "pi", "sin", "cos",
    "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    # choice
    "if", "nullif",
    # text
    "||", "~~", "!~~", "~~*", "!~~*", "~~~", "like_escape", "not_like_escape", "ilike_escape",
    "not_ilike_escape", "^@", "ascii", "char_length", "character_length", "concat", "concat_ws",
    "contains", "ends_with", "instr", "lcase", "left", "length", "len", "lower", "ltrim",
    "position", "prefix", "regexp_extract", "regexp_full_match", "regexp_matches",
    "regexp_replace", "replace", "reverse", "right", "rtrim", "split_part", "starts_with",
    "strip_accents", "strlen", "strpos",
    "substr", "substring", "suffix", "translate", "trim", "ucase", "unicode", "upper",
    # dates and times
    "century", "date_add", "date_diff", "date_part", "date_sub", "date_trunc", "datediff",
    "datepart", "datesub", "datetrunc", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear",
    "decade", "epoch", "epoch_ms", "epoch_ns", "epoch_us", "era", "hour", "isodow", "isoyear",
    "julian", "last_day", "make_date", "make_time", "make_timestamp", "microsecond", "millennium",
    "millisecond", "minute", "month", "monthname", "quarter", "second", "strftime", "strptime",
    "timezone", "to_centuries", "to_days", "to_decades", "to_hours", "to_microseconds",
    "to_millennia", "to_milliseconds", "to_minutes", "to_months", "to_quarters", "to_seconds",
    "to_timestamp", "to_weeks", "to_years", "try_strptime", "week", "weekday", "weekofyear", "year",
    "yearweek",
}  # fmt: skip
TYPES = {
    "BIGINT", "BOOL", "BOOLEAN", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "FLOAT4", "FLOAT8",
    "HUGEINT", "INT", "INT1", "INT2", "INT4", "INT8", "INTEGER", "INTERVAL", "LONG", "NUMERIC",
    "REAL", "SHORT", "SIGNED", "SMALLINT", "STRING", "TEXT", "TIME", "TIMESTAMP", "TIMESTAMPTZ",
    "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP_S", "TINYINT", "UBIGINT",
    "UINTEGER", "USMALLINT", "UTINYINT", "VARCHAR",
}  # fmt: skip
TEXTS = {"CHAR", "STRING", "TEXT", "VARCHAR"}  # whatever there is can be read as one
SEVERAL = {
    "unnest", "generate_subscripts", "generate_series", "range", "columns", "row", "list_value",
    "struct_pack", "map", "array_value", "flatten", "explode",
}  # fmt: skip
UNSTABLE = {
    "random", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "now", "today", "age",
    "current_date", "current_time", "current_timestamp", "current_localtime",
    "current_localtimestamp", "localtime", "localtimestamp", "get_current_time",
    "get_current_timestamp", "transaction_timestamp", "txid_current", "nextval", "currval",
    "getvariable", "getenv", "current_user", "current_setting", "rowid",
}  # fmt: skip
# what each kind of node may hold besides its kind and place: everything else must be empty
PARTS = {
    "COLUMN_REF": {"column_names"},
    "CONSTANT": {"literal", "value"},
    "COMPARISON": {"left", "right"},
    "CONJUNCTION": {"children"},
    "OPERATOR": {"children"},
    "BETWEEN": {"input", "lower", "upper"},
    "CASE": {"case_checks", "else_expr"},
    "CAST": {"child", "cast_type", "type_expr", "try_cast"},
    "FUNCTION": {"function_name", "arguments", "children", "is_operator", "qualified_name"},
}
PLACE = {"class", "type", "query_location", "query_location_length"}
SELECT = {"type", "select_list", "from_table", "aggregate_handling"}
REASONS = {
    "SUBQUERY": "it reads other rows",
    "WINDOW": "it reads other rows",
    "STAR": "it makes several values out of one",
    "LAMBDA": "it holds a function of its own",
    "PARAMETER": "it holds a parameter ($1, ?)",
    "POSITIONAL_REFERENCE": "name the column instead of #1",
}
