import type { ComponentChildren } from 'preact'
import type { Catalog } from '../../lib/catalog.ts'
import { chainName } from '../../lib/catalog.ts'
import { formatDollars, formatRatioAsPercent, formatSignedDollars, isNegative, isPositive } from '../../lib/decimal.ts'
import type { ToDo } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { classes } from '../../lib/view.ts'
import { Change, Usd } from '../../part/figure.tsx'
import type { Worth } from './figures.ts'
import { computeYearlyRatio, countRisks } from './figures.ts'

interface WorthScreenProps {
  readonly title: string
  /** Undefined while it is being read; `failed` if it cannot be. */
  readonly worth: Worth | 'failed' | undefined
  readonly catalog: Catalog
  /** Button that reads it again, shown if something lacks. */
  readonly again: ComponentChildren
}

/** What all wallets are worth, what they earn, and what is at risk. */
export function WorthScreen({ title, worth, catalog, again }: WorthScreenProps) {
  const read = worth === undefined || worth === 'failed' ? undefined : worth
  const { net = null, lacks = [], now } = read ?? {}
  return (
    <section class="worth" aria-label={title} aria-busy={worth === undefined}>
      <div class="worth-block">
        <h2>Net worth</h2>
        <p class="worth-line">
          {net !== null && lacks.length > 0 && <span class="at-least">at least</span>}
          <Headline value={net} isLoading={worth === undefined} />
        </p>
        {read && (
          <>
            {now && net !== null && <Changes changes={now.changes} again={again} />}
            <p class="soft">
              <Known value={read.assets} /> assets · <Known value={read.debt} /> debts
            </p>
          </>
        )}
        {lacks.length > 0 && <Lacks lacks={lacks} catalog={catalog} again={again} />}
        {worth === 'failed' && again}
      </div>
      {read && now && (
        <>
          <Earnings worth={read} now={now} />
          <Risks toDo={now.toDo} isWhole={lacks.length === 0} isRead={read.assets !== null} />
        </>
      )}
      {read && !now && (
        <div class="worth-block">
          <h2>Earns, at risk</h2>
          <p class="soft">Told of now alone. Each position below says what it was then.</p>
        </div>
      )}
    </section>
  )
}

/** The figure alone, so that a reader and a program find it; its title has all digits. */
function Headline({ value, isLoading }: { value: string | null; isLoading: boolean }) {
  if (value !== null)
    return (
      <strong id="net-worth" title={`${value} USD`}>
        {formatDollars(value)}
      </strong>
    )
  return (
    <strong id="net-worth" class="absent">
      {isLoading ? 'being read' : 'unknown'}
    </strong>
  )
}

function Known({ value }: { value: string | null }) {
  return value === null ? <span class="absent">unknown</span> : <Usd value={value} />
}

interface ChangesProps {
  readonly changes: NonNullable<Worth['now']>['changes']
  readonly again: ComponentChildren
}

/** How the net worth changed; behind one line why that is not known, and a button that reads it again. */
function Changes({ changes, again }: ChangesProps) {
  const untold = changes.filter(({ usd }) => usd === null)
  const reasons = [...new Set(untold.flatMap(({ why }) => why ?? []))]
  return (
    <>
      {changes.map(({ name, usd, ratio }) => {
        if (usd === null) return null
        return (
          <p class="soft" key={name}>
            <b class={classes(isPositive(usd) && 'good', isNegative(usd) && 'bad')}>{formatSignedDollars(usd)}</b>
            {ratio !== undefined && ` (${isPositive(ratio) ? '+' : ''}${formatRatioAsPercent(ratio)})`} in {name}
          </p>
        )
      })}
      {untold.length > 0 && (
        <details class="lacks">
          <summary class="soft">Change in {untold.map(({ name }) => name).join(' and ')} not known yet</summary>
          {reasons.map((why) => (
            <p>{why}.</p>
          ))}
          {again}
        </details>
      )}
    </>
  )
}

interface LacksProps {
  readonly lacks: Worth['lacks']
  readonly catalog: Catalog
  readonly again: ComponentChildren
}

/** What the net worth lacks, behind one line. */
function Lacks({ lacks, catalog, again }: LacksProps) {
  const chains = new Set(lacks.filter(({ what }) => what === 'chain').map(({ chain_id }) => chain_id)).size
  const others = lacks.length - chains
  const words = [
    ...(chains > 0 ? [pluralize(chains, 'chain')] : []),
    ...(others > 0 ? [`${others === 1 ? 'one part' : `${others} parts`}`] : []),
  ]
  return (
    <details class="lacks">
      <summary class="bad">without {words.join(' and ')}</summary>
      <ul>
        {lacks.map(({ chain_id, what, why }) => (
          <li>
            {chain_id === 0 ? '' : `${chainName(catalog, chain_id)}: `}
            {what === 'chain' ? '' : `${what}: `}
            {why}
          </li>
        ))}
      </ul>
      {again}
    </details>
  )
}

function Earnings({ worth: { net }, now: { earnings } }: { worth: Worth; now: NonNullable<Worth['now']> }) {
  const { per_day_usd: perDay, to_collect_usd: toCollect, incomplete } = earnings
  const ratio = computeYearlyRatio(perDay, net)
  return (
    <div class="worth-block">
      <h2>Earns</h2>
      {perDay === null ? (
        <p class="worth-line second absent">unknown</p>
      ) : (
        <p class="worth-line second">
          <Change value={perDay} /> <span class="unit">a day</span>
        </p>
      )}
      {ratio !== undefined && (
        <p class="soft" title="Of the net worth">
          {formatRatioAsPercent(ratio)} a year
        </p>
      )}
      <p class="soft">
        <Known value={toCollect} /> to collect
      </p>
      {incomplete.length > 0 && (
        <details class="lacks">
          <summary class="soft">without {incomplete.length === 1 ? 'one part' : `${incomplete.length} parts`}</summary>
          <ul>
            {incomplete.map(({ what, why }) => (
              <li>
                {what}: {why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

const RISKS: Record<ToDo['kind'], { mood: string; say: (count: number) => string }> = {
  liquidatable: { mood: 'bad', say: () => 'can be liquidated now' },
  near_liquidation: { mood: 'bad', say: (count) => `${count === 1 ? 'is' : 'are'} near liquidation` },
  due: { mood: 'warn', say: (count) => `${count === 1 ? 'falls' : 'fall'} due` },
  out_of_range: { mood: 'warn', say: (count) => `${count === 1 ? 'is' : 'are'} out of range` },
  uncollected: { mood: 'warn', say: (count) => `${count === 1 ? 'has' : 'have'} something to collect` },
  blocked: { mood: 'bad', say: () => 'cannot be withdrawn' },
  unreadable: { mood: 'warn', say: () => 'cannot be read' },
}

function Risks({ toDo, isWhole, isRead }: { toDo: readonly ToDo[]; isWhole: boolean; isRead: boolean }) {
  // What waits to be collected is no risk.
  const risks = countRisks(toDo).filter(({ kind }) => kind !== 'uncollected')
  return (
    <div class="worth-block">
      <h2>At risk</h2>
      {risks.length === 0 && (
        <p class={classes('worth-line second', !isRead && 'absent')}>
          {isRead ? `Nothing${isWhole ? '' : ' in what was read'}` : 'unknown'}
        </p>
      )}
      <ul>
        {risks.map(({ kind, count, usd }) => (
          <li class={RISKS[kind].mood} key={kind}>
            <b>{count}</b> {RISKS[kind].say(count)}
            {usd !== undefined && isPositive(usd) && <span class="soft"> · {formatDollars(usd)}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}
