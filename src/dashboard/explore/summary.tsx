import type { Catalog } from '../lib/catalog.ts'
import { isPositive, sumDollars } from '../lib/decimal.ts'
import type { AaveList, PositionList } from '../lib/shapes.ts'
import { formatMoment, pluralize } from '../lib/time.ts'
import { classes } from '../lib/view.ts'
import { DefinitionList, Usd } from '../part/figure.tsx'
import type { RequestedPart } from './requests/answers.ts'
import { isAbsence } from './requests/causes.tsx'
import type { Part } from './requests/plan.ts'
import { FAMILY_NAMES, formatPartName } from './requests/plan.ts'
import { collectFigures, sumCredits } from './total.ts'

interface SummaryProps {
  readonly label: string
  readonly parts: readonly RequestedPart[]
  /** Parts that the service is preparing. */
  readonly pending: readonly RequestedPart[]
  readonly catalog: Catalog
  readonly spent: number | undefined
}

/** Blocks, price and progress of the requests for positions, and what is to collect from those that were read. */
export function Summary({ label, parts, pending, catalog, spent }: SummaryProps) {
  const { fees, withdrawn, mixed, notLoaded } = collectFigures(parts)
  const { read, failed, isLoading } = countParts(parts, pending)
  const blocks = new Set(
    parts.flatMap(({ answer }) => (answer?.ok ? answer.asOf : [])).map((each) => `${each.chainId}:${each.block}`),
  )
  const times = parts.flatMap(({ answer }) => (answer?.ok ? [answer.atSec] : []))
  const toCollect = [
    ['Uncollected fees', sumDollars(fees)],
    ['Withdrawn, not collected', sumDollars(withdrawn)],
    ['Either, not separated yet', sumDollars(mixed)],
  ] as const
  return (
    <section class="summary" aria-label={label}>
      <div class="total">
        <p class="soft">
          {blocks.size === 0 && failed > 0 && !isLoading ? (
            <b class="bad">Nothing could be read, and nothing was charged for it.</b>
          ) : (
            <>
              {isLoading ? 'So far, ' : ''}read at {pluralize(blocks.size, 'block')}
              {times.length > 0 && `, ${formatMoment(Math.min(...times))}`},{' '}
              {spent === undefined
                ? `its lists for ${pluralize(sumCredits(parts), 'credit')}`
                : `for ${pluralize(spent, 'credit')}`}
              .
            </>
          )}
          {notLoaded > 0 && <> {pluralize(notLoaded, 'open position')} of the lists not shown yet.</>}
          {read > 0 && failed > 0 && (
            <>
              {' '}
              <b class="bad">{pluralize(failed, 'part')} could not be read, so this is not all.</b>
            </>
          )}
        </p>
        <DefinitionList
          rows={toCollect.flatMap(([name, usd]) => (isPositive(usd) ? [[name, <Usd value={usd} />] as const] : []))}
        />
      </div>
      <Progress parts={parts} pending={pending} catalog={catalog} />
    </section>
  )
}

/** Counts what was read, also that there is nothing; `failed`: what could not be. */
export function countParts(parts: readonly RequestedPart[], pending: readonly RequestedPart[]) {
  const failed = parts.filter(
    (part) => part.answer?.ok === false && !isAbsence(part.answer) && !pending.includes(part),
  ).length
  const waiting = parts.filter(({ answer }) => answer === undefined).length + pending.length
  return { read: parts.length - failed - waiting, failed, isLoading: waiting > 0 }
}

interface ProgressProps {
  readonly parts: readonly RequestedPart[]
  readonly pending: readonly RequestedPart[]
  readonly catalog: Catalog
}

/** All parts with their states. */
function Progress({ parts, pending, catalog }: ProgressProps) {
  const { read, failed, isLoading } = countParts(parts, pending)
  const families = [...new Set(parts.map(({ family }) => family))]
  return (
    <div class="progress">
      <p class="progress-line">
        {isLoading && <progress max={parts.length} value={read + failed} aria-label="Parts asked for" />}
        <span role="status" data-settled={!isLoading}>
          {isLoading ? `${read} of ${parts.length} read` : formatOutcome(read, failed)}
        </span>
      </p>
      {families.map((family) => (
        <p class="chips">
          <span class="chips-name">{FAMILY_NAMES[family]}</span>
          <span>
            <Chips parts={parts.filter((part) => part.family === family)} pending={pending} catalog={catalog} />
          </span>
        </p>
      ))}
    </div>
  )
}

/** Says how much could be read once nothing is under way: a failure counts as no reading. */
export function formatOutcome(read: number, failed: number) {
  const all = pluralize(read + failed, 'part')
  return failed === 0 ? `All of ${all} read` : `${read} of ${all} read, ${failed} could not be`
}

interface ChipsProps {
  readonly parts: readonly RequestedPart[]
  readonly pending: readonly RequestedPart[]
  readonly catalog: Catalog
}

/** Chips of a family's parts. Failed parts share one chip, because a notice lists them. */
function Chips({ parts, pending, catalog }: ChipsProps) {
  const states = parts.map((part) => ({
    name: formatPartName(catalog, part),
    ...(pending.includes(part) ? { kind: 'asking', text: 'pending' } : toState(part)),
  }))
  const failed = states.filter(({ kind }) => kind === 'failed')
  const [first] = failed
  return (
    <>
      {states
        .filter(({ kind }) => kind !== 'failed')
        .map(({ name, kind, text }) => (
          <span class={classes('chip', kind)}>
            {name}
            <i>{text}</i>
          </span>
        ))}
      {first && (
        <span class="chip failed">
          {failed.length === 1 ? first.name : `${failed.length}${failed.length < states.length ? ' others' : ''}`}
          <i>failed</i>
        </span>
      )}
    </>
  )
}

/** Counts the positions of an answer. */
function countPositions(family: Part['family'], body: unknown) {
  if (family === 'obligation') return 1
  const list = body as AaveList | PositionList
  if (!['aave', 'morpho', 'kamino', 'lending'].includes(family)) return list.pagination.total
  return (list as AaveList).data.flatMap((each) => each.positions).length
}

function toState({ family, answer }: RequestedPart) {
  if (answer === undefined) return { kind: 'asking', text: 'loading' }
  if (!answer.ok && isAbsence(answer)) return { kind: 'nothing', text: 'nothing' }
  if (!answer.ok) return { kind: 'failed', text: 'failed' }
  const count = countPositions(family, answer.body)
  return count === 0 ? { kind: 'nothing', text: 'nothing' } : { kind: 'found', text: String(count) }
}
