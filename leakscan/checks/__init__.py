"""What a pattern cannot say, one module each.

`check(config, private)` returns None when there is nothing to look for, else an object with `see(item)`, which yields
observations, and `finish(release, observations)`, which yields findings.  `count` of a finding is the number of records
or files, each of which `places` names once, whatever it holds several times.

A module with `NEEDS_EVALUATOR = True` finds nothing without gold or catalogue: a waiver of its rules is then no sign of
neglect.

Most records matter to no check, and to take one apart costs more than to parse it.  So a check may offer besides

    wants(kind, name) -> pattern | None

which is asked once for each name: a JSON path, where `kind` is `text` or `number` (all that is no text) for a field and
`name` for a key; `file` or `folder`, where it is `name`; the name of a tag, where it is `tag`; `malformed`, where it is
`block`.  The answer is None when nothing under that name matters, "" when every value does, else a regular expression
for the values that do (RE2's, not Python's; without `\\A` and `\\z`).  `see` is then called only for items that hold
such a fact, and `facts(item)` are these facts alone; `item.body` is still the whole.  It is a sieve and no more: from
the first value that matters on, and from some before it, `see` gets all values under that name, and has to look for
itself.  Items of the kinds that have no facts (`Item` names them) come to every check.  All patterns of all rules and
checks are tried in one pass over the values of many records, so what a check does not want costs nothing.

A check that offers `remarks(observations)` says there what it could not tell, for the notes of the report: one line of
text for the whole release, without names.

A check that compares whole records offers `look(items, columns)` in place of `see` and `wants`.  It gets the records of
a file by the dozen and in order, with `Columns` of their leaves, and other items one by one with empty columns.
"""
