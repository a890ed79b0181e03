import account from '../../sql/migrations/0001_account.sql' with { type: 'text' }
import requestLog from '../../sql/migrations/0002_request_log.sql' with { type: 'text' }
import gate from '../../sql/migrations/0003_gate.sql' with { type: 'text' }
import operator from '../../sql/migrations/0004_operator.sql' with { type: 'text' }
import history from '../../sql/migrations/0005_history.sql' with { type: 'text' }
import lendingBalance from '../../sql/migrations/0006_lending_balance.sql' with { type: 'text' }
import snapshot from '../../sql/migrations/0007_snapshot.sql' with { type: 'text' }
import sessionSpending from '../../sql/migrations/0008_session_spending.sql' with { type: 'text' }
import historyWanted from '../../sql/migrations/0009_history_wanted.sql' with { type: 'text' }
import sessionPage from '../../sql/migrations/0010_session_page.sql' with { type: 'text' }
import witness from '../../sql/migrations/0011_witness.sql' with { type: 'text' }
import historySwitch from '../../sql/migrations/0012_history_switch.sql' with { type: 'text' }
import historyAgreed from '../../sql/migrations/0013_history_agreed.sql' with { type: 'text' }

/** One step of the schema, forward only. Its text runs in one transaction with its row in `schema_migration`. */
export interface Migration {
  /** Position in the list, from 1, and number of the file. */
  readonly version: number
  /** `0001_account`: the file's name without `.sql`. */
  readonly name: string
  readonly text: string
}

// A new file under sql/migrations is one import above and one line here.
const TEXTS: readonly (readonly [name: string, text: string])[] = [
  ['0001_account', account],
  ['0002_request_log', requestLog],
  ['0003_gate', gate],
  ['0004_operator', operator],
  ['0005_history', history],
  ['0006_lending_balance', lendingBalance],
  ['0007_snapshot', snapshot],
  ['0008_session_spending', sessionSpending],
  ['0009_history_wanted', historyWanted],
  ['0010_session_page', sessionPage],
  ['0011_witness', witness],
  ['0012_history_switch', historySwitch],
  ['0013_history_agreed', historyAgreed],
]

/** Every migration, in order. */
export const MIGRATIONS: readonly Migration[] = TEXTS.map(([name, text], index) => ({
  version: index + 1,
  name,
  text,
}))
