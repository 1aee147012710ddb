"""labkit: predict, kill a real process, and judge by durable rows.

The map, from the bottom up; data flows one way:

    errors, actions, values, canonical, boundaries   frozen values and words that cross every border
    stores/      one SQLite file an owner: journal (workflow), ledger (provider), authority (approver)
    providers/   one interface (fence, submit, read, postcondition) over a ledger
    protocol/    states, the recovery decision, the first run and the seven moves of a resume
    harness/     children that are really killed, trials, studies, evidence packets
    kata.py      what a learner's answer may import
    learning/    predictions, and verdicts over recorded observations; starts no process
    grading/     one engine behind the notebook, the command line and a class
    ui/          the command line, notebook pictures, reports

Importing this package imports nothing else.
"""

__version__ = "0.1.0"
