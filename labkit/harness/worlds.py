"""Worlds: the stores that one trial starts from.

A world is a folder with one journal, one ledger for each provider, perhaps an authority, and
`world.json`, which says what is in it.  Clocks are small integers: run n happens at `n * 1000` ms.
What may happen to it between runs is in `interventions`, how its rows are read in `snapshots`.
"""

from __future__ import annotations

import json
from pathlib import Path

from labkit.harness.folders import require_empty as require_empty
from labkit.harness.folders import scratch_folder as scratch_folder
from labkit.harness.interventions import INTERVENTIONS as INTERVENTIONS
from labkit.harness.interventions import intervene as intervene
from labkit.harness.snapshots import SCHEMAS as SCHEMAS
from labkit.harness.snapshots import read_tables as read_tables
from labkit.harness.snapshots import snapshot as snapshot
from labkit.harness.snapshots import store_files as store_files
from labkit.harness.specs import AUTHORITY_FILE as AUTHORITY_FILE
from labkit.harness.specs import DESCRIPTION, operation_of
from labkit.harness.specs import LedgerSpec as LedgerSpec
from labkit.harness.specs import StepSpec as StepSpec
from labkit.harness.specs import WorldSpec as WorldSpec
from labkit.harness.specs import describe as describe
from labkit.harness.specs import one_charge as one_charge
from labkit.stores.authority import Authority
from labkit.stores.journal import Journal
from labkit.stores.ledger import Ledger
from labkit.stores.sqlite import atomic


def prepare(folder: Path, spec: WorldSpec) -> Path:
    """Make the world's stores in a new or empty folder, at time 0.

    Raises:
        OutputInUse: the folder holds something.
    """
    require_empty(folder)
    with atomic((journal := Journal.create(folder / spec.journal_file)).db):
        for workflow_id in dict.fromkeys(step.workflow_id for step in spec.steps):
            journal.begin(workflow_id, spec.code_path, 0)
        for step in spec.steps:
            if step.state is not None:
                journal.intend(operation_of(step), 0)
    journal.db.close()
    for ledger_spec in spec.ledgers:
        ledger = Ledger.create(
            folder / ledger_spec.file, ledger_spec.name, ledger_spec.mandate_required, ledger_spec.budget
        )
        with atomic(ledger.db):
            for mandate in ledger_spec.mandates:
                ledger.grant_mandate(mandate, 0)
        ledger.db.close()
    if spec.approvals is not None:
        with atomic((authority := Authority.create(folder / AUTHORITY_FILE)).db):
            for approval in spec.approvals:
                authority.approve(approval)
        authority.db.close()
    (folder / DESCRIPTION).write_text(json.dumps(spec.as_json, indent=1), encoding="utf-8")
    return folder
