"""Rule packs as package data: one TOML file a rule, no code.  Installed as `leakscan.rules`."""
