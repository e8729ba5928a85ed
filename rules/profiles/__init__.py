"""Configurations to start from, one TOML file a benchmark: package data, no code."""
