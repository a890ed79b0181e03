import { signOut } from '../lib/account.ts'
import { formatThousands } from '../lib/decimal.ts'
import { useAnswer, useSessionEnd } from '../lib/hooks.ts'
import type { Organization } from '../lib/shapes.ts'
import { pluralize } from '../lib/time.ts'
import { classes, useState } from '../lib/view.ts'
import { Bars } from '../part/chart/bars.tsx'
import { UsageChart } from '../part/chart/usage.tsx'
import { DefinitionList } from '../part/figure.tsx'
import { Keys } from '../part/keys.tsx'
import { LoadedAnswer } from '../part/notice.tsx'
import { Shell } from '../part/shell.tsx'
import { SignedOut } from '../part/signed_out.tsx'
import { Latencies } from './latency.tsx'
import { Log } from './log.tsx'
import { Triggers } from './triggers.tsx'

const BASE = 'dashboard/v1'
const DAY_MS = 86_400_000
const BURN_DAYS = 30

/** Usage page: balance, requests, log, keys and triggers of an organization. */
export function UsagePage() {
  const request = useAnswer<{ data: Organization }>(`${BASE}/organization`)
  const { answer, again } = request
  const [range, setRange] = useState('24h')
  const leave = () => signOut(BASE).then(again)
  const isEnded = useSessionEnd()
  const organization = answer?.ok && !isEnded ? answer.body.data : undefined
  const aside = organization && (
    <span class="key-state">
      <b>{organization.name}</b>
      <button type="button" class="small" onClick={leave}>
        Sign out
      </button>
    </span>
  )
  return (
    <Shell page="Usage" aside={aside}>
      {drawContent()}
    </Shell>
  )

  function drawContent() {
    if (isEnded)
      return (
        <SignedOut
          isEnded={answer?.ok === true}
          title="Usage of an organization"
          command="walletscope login --org <organization>"
        >
          The operator can also create one.
        </SignedOut>
      )
    return (
      <LoadedAnswer request={request} waiting="Reading the account">
        {drawAccount}
      </LoadedAnswer>
    )
  }

  function drawAccount() {
    if (organization === undefined) return null
    const suspended = organization.suspended_at !== null
    return (
      <>
        <h1 class="page-title">Usage</h1>
        {suspended && (
          <div class="notice trouble">
            <p class="notice-title">This organization is suspended</p>
            <p class="soft">
              Every call is refused with 403 ACCOUNT_SUSPENDED, and no key can be created. Keys and credits work again
              once the operator restores it.
            </p>
          </div>
        )}
        <Balance organization={organization} atSec={answer?.ok ? answer.atSec : 0} />
        <section class="family" aria-label="Requests">
          <h2>Requests</h2>
          <div class="card">
            <UsageChart
              path={`${BASE}/usage`}
              range={range}
              onRange={setRange}
              choices={[
                ['path', 'route'],
                ['key', 'key'],
                ['status', 'status'],
              ]}
            />
          </div>
          <div class="card">
            <Latencies path={`${BASE}/latency`} range={range} />
          </div>
        </section>
        <section class="family" aria-label="Log">
          <h2>Log</h2>
          <Log path={`${BASE}/logs`} />
        </section>
        <section class="family" aria-label="Keys">
          <h2>Keys</h2>
          <div class="card">
            <Keys base={`${BASE}/keys`} suspended={suspended} />
          </div>
        </section>
        <Triggers base={BASE} />
      </>
    )
  }
}

interface BalanceProps {
  readonly organization: Organization
  readonly atSec: number
}

function Balance({
  atSec,
  organization: { balance, granted, burn, days_left: daysLeft, rate_limit: rateLimit, id },
}: BalanceProps) {
  const today = Math.floor((atSec * 1000) / DAY_MS) * DAY_MS
  const days = Array.from({ length: BURN_DAYS }, (_, index) =>
    new Date(today - (BURN_DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )
  const spent = new Map(burn.map((each) => [each.day, Number(each.credits)]))
  const isLow = daysLeft !== null && Number(daysLeft) < 7
  return (
    <section class="summary two" aria-label="Balance">
      <div class="total">
        <p class="total-name">Credits left</p>
        <p class="total-value">{formatThousands(balance)}</p>
        <p class={classes('soft', isLow && 'warn')}>
          {daysLeft === null
            ? 'Nothing was spent in the last week.'
            : Number(daysLeft) > 3_650
              ? 'At the pace of the last week, they last more than ten years.'
              : `At the pace of the last week, they last ${pluralize(Number(daysLeft), 'day')}.`}
        </p>
        <DefinitionList
          rows={[
            ['Granted', formatThousands(granted)],
            ['Spent', formatThousands(String(BigInt(granted) - BigInt(balance)))],
            ['Rate limit', `${rateLimit.toLocaleString('en')} a second`],
            ['Organization', <code>{id}</code>],
          ]}
        />
      </div>
      <Bars
        title="Credits spent, last 30 days"
        unit="credits"
        slots={days}
        series={[{ name: 'credits', kind: 'c0', values: days.map((day) => spent.get(day) ?? 0) }]}
        height={200}
      />
    </section>
  )
}
