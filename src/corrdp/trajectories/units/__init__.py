"""What a unit of protection means on movements."""
