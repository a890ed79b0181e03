import accountChanged from '../../sql/functions/account_changed.sql' with { type: 'text' }
import accountChangesSince from '../../sql/functions/account_changes_since.sql' with { type: 'text' }
import gateAdmit from '../../sql/functions/gate_admit.sql' with { type: 'text' }
import gateFacts from '../../sql/functions/gate_facts.sql' with { type: 'text' }
import gateSettle from '../../sql/functions/gate_settle.sql' with { type: 'text' }
import gateSettleLimited from '../../sql/functions/gate_settle_limited.sql' with { type: 'text' }
import gateVoid from '../../sql/functions/gate_void.sql' with { type: 'text' }
import historyCover from '../../sql/functions/history_cover.sql' with { type: 'text' }
import historyCut from '../../sql/functions/history_cut.sql' with { type: 'text' }
import historyFallBack from '../../sql/functions/history_fall_back.sql' with { type: 'text' }
import historyForget from '../../sql/functions/history_forget.sql' with { type: 'text' }
import historyIsAgreed from '../../sql/functions/history_is_agreed.sql' with { type: 'text' }
import historyPlaceId from '../../sql/functions/history_place_id.sql' with { type: 'text' }
import lendingEventStore from '../../sql/functions/lending_event_store.sql' with { type: 'text' }
import lendingSeriesStore from '../../sql/functions/lending_series_store.sql' with { type: 'text' }
import lendingSnapshotStore from '../../sql/functions/lending_snapshot_store.sql' with { type: 'text' }
import midnightStore from '../../sql/functions/midnight_store.sql' with { type: 'text' }
import organizationCreateFirst from '../../sql/functions/organization_create_first.sql' with { type: 'text' }
import positionFlowStore from '../../sql/functions/position_flow_store.sql' with { type: 'text' }
import rateWindowPrime from '../../sql/functions/rate_window_prime.sql' with { type: 'text' }
import requestLogDrop from '../../sql/functions/request_log_drop.sql' with { type: 'text' }
import requestLogExtend from '../../sql/functions/request_log_extend.sql' with { type: 'text' }
import requestLogNumbers from '../../sql/functions/request_log_numbers.sql' with { type: 'text' }
import requestLogPage from '../../sql/functions/request_log_page.sql' with { type: 'text' }
import requestRollupAdd from '../../sql/functions/request_rollup_add.sql' with { type: 'text' }
import requestRollupFold from '../../sql/functions/request_rollup_fold.sql' with { type: 'text' }
import requestRollupPendingSince from '../../sql/functions/request_rollup_pending_since.sql' with { type: 'text' }

/**
 * One function of the database. Its text is `create or replace function` and the triggers that call it, if any; a
 * changed text is run again, in one transaction. Its signature may change. A function without a file stays, uncalled,
 * until a migration drops it.
 */
export interface SqlFunction {
  /** Of the function, and of its file without `.sql`. */
  readonly name: string
  readonly text: string
}

// A new file under sql/functions is one import above and one line here, after the functions that it calls.
const TEXTS: readonly (readonly [name: string, text: string])[] = [
  ['account_changed', accountChanged],
  ['account_changes_since', accountChangesSince],
  ['request_log_numbers', requestLogNumbers],
  ['request_rollup_add', requestRollupAdd],
  ['rate_window_prime', rateWindowPrime],
  ['gate_facts', gateFacts],
  ['gate_admit', gateAdmit],
  ['gate_settle', gateSettle],
  ['gate_settle_limited', gateSettleLimited],
  ['gate_void', gateVoid],
  ['organization_create_first', organizationCreateFirst],
  ['request_rollup_pending_since', requestRollupPendingSince],
  ['request_rollup_fold', requestRollupFold],
  ['request_log_page', requestLogPage],
  ['request_log_extend', requestLogExtend],
  ['request_log_drop', requestLogDrop],
  ['history_place_id', historyPlaceId],
  ['history_cover', historyCover],
  ['history_is_agreed', historyIsAgreed],
  ['history_cut', historyCut],
  ['history_fall_back', historyFallBack],
  ['history_forget', historyForget],
  ['lending_event_store', lendingEventStore],
  ['position_flow_store', positionFlowStore],
  ['lending_series_store', lendingSeriesStore],
  ['midnight_store', midnightStore],
  ['lending_snapshot_store', lendingSnapshotStore],
]

/** Every function, in an order in which they can be created. */
export const FUNCTIONS: readonly SqlFunction[] = TEXTS.map(([name, text]) => ({ name, text }))
