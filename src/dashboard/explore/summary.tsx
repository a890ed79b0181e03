import type { Catalog } from '../lib/catalog.ts'
import { SOLANA_CHAIN_ID } from '../lib/catalog.ts'
import { isPositive, sumDollars } from '../lib/decimal.ts'
import type { AaveList, PositionList } from '../lib/shapes.ts'
import { formatMoment, pluralize } from '../lib/time.ts'
import { classes } from '../lib/view.ts'
import { DefinitionList, Usd } from '../part/figure.tsx'
import type { RequestedPart } from './requests/answers.ts'
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

/** Totals of the results so far, and the progress of the requests. */
export function Summary({ label, parts, pending, catalog, spent }: SummaryProps) {
  const { liquidity, fees, withdrawn, mixed, netWorths, obligations, added, unpriced, barred, notLoaded } =
    collectFigures(parts)
  const answered = parts.filter(({ answer }) => answer !== undefined).length
  const failed = parts.filter(
    (part) => part.answer?.ok === false && part.answer.code !== 'NOT_FOUND' && !pending.includes(part),
  ).length
  const isLoading = answered < parts.length || pending.length > 0
  const wasRead = (family: string) => parts.some((part) => part.family === family && part.answer?.ok)
  const wasAllRead = parts.every(({ family }) => !['liquidity', 'aave', 'kamino'].includes(family) || wasRead(family))
  const evm = parts.some(({ chainId }) => chainId !== SOLANA_CHAIN_ID)
  const lending = evm ? 'Aave' : 'Kamino'
  const blocks = new Set(
    parts.flatMap(({ answer }) => (answer?.ok ? answer.asOf : [])).map((each) => `${each.chainId}:${each.block}`),
  )
  const times = parts.flatMap(({ answer }) => (answer?.ok ? [answer.atSec] : []))
  return (
    <section class="summary" aria-label={label}>
      <div class="total">
        <p class="total-name">Open liquidity and {lending}, net</p>
        <p class="total-value">
          <Sum values={[...liquidity, ...netWorths]} isLoading={isLoading} isKnown={wasAllRead} />
        </p>
        <p class="soft">
          {answered < parts.length ? 'So far, ' : ''}read at {pluralize(blocks.size, 'block')}
          {times.length > 0 && `, ${formatMoment(Math.min(...times))}`},{' '}
          {spent === undefined
            ? `its lists for ${pluralize(sumCredits(parts), 'credit')}`
            : `for ${pluralize(spent, 'credit')}`}
          .
          {unpriced > 0 && (
            <>
              {' '}
              {pluralize(unpriced, 'position')} without a price {unpriced === 1 ? 'is' : 'are'} not in it.
            </>
          )}
          {barred > 0 && (
            <>
              {' '}
              {pluralize(barred, 'position')} without a known withdrawal {barred === 1 ? 'is' : 'are'} not in it.
            </>
          )}
          {notLoaded > 0 && (
            <>
              {' '}
              {pluralize(notLoaded, 'position')} not shown yet {notLoaded === 1 ? 'is' : 'are'} not in it.
            </>
          )}
          {added > 0 && (
            <>
              {' '}
              {pluralize(added, 'added obligation')} {added === 1 ? 'is' : 'are'} not in it.
            </>
          )}
          {failed > 0 && (
            <>
              {' '}
              <b class="bad">{pluralize(failed, 'part')} could not be read, so this is not all.</b>
            </>
          )}
        </p>
      </div>
      <DefinitionList
        rows={[
          ['Liquidity', <Sum values={liquidity} isLoading={isLoading} isKnown={wasRead('liquidity')} />],
          [
            'of it uncollected fees',
            <Sum
              values={fees}
              isLoading={isLoading}
              isKnown={wasRead('liquidity') && (fees.length > 0 || mixed.length === 0)}
            />,
          ],
          ...(isPositive(sumDollars(withdrawn))
            ? [['of it withdrawn, not collected', <Usd value={sumDollars(withdrawn)} />] as const]
            : []),
          ...(mixed.length > 0 ? [['of it either, not separated', <Usd value={sumDollars(mixed)} />] as const] : []),
          [
            `${lending} collateral − debt`,
            <Sum values={netWorths} isLoading={isLoading} isKnown={wasRead(evm ? 'aave' : 'kamino')} />,
          ],
          ...(evm ? [] : [['Kamino obligations', wasRead('kamino') ? obligations : 'unknown'] as const]),
        ]}
      />
      <Progress parts={parts} pending={pending} catalog={catalog} answered={answered} />
    </section>
  )
}

interface SumProps {
  readonly values: readonly string[]
  readonly isKnown: boolean
  readonly isLoading: boolean
}

/** Sum of loaded figures; shows no zero if none was loaded. */
function Sum({ values, isKnown, isLoading }: SumProps) {
  if (isKnown) return <Usd value={sumDollars(values)} />
  return isLoading ? (
    <i class="skeleton-figure">
      <span class="visually-hidden">being read</span>
    </i>
  ) : (
    <span class="absent">not read</span>
  )
}

interface ProgressProps {
  readonly parts: readonly RequestedPart[]
  readonly pending: readonly RequestedPart[]
  readonly catalog: Catalog
  readonly answered: number
}

/** All parts with their states. */
function Progress({ parts, pending, catalog, answered }: ProgressProps) {
  const families = [...new Set(parts.map(({ family }) => family))]
  return (
    <div class="progress">
      <p class="progress-line">
        <progress max={parts.length} value={answered} aria-label="Parts answered" />
        <span role="status">
          {answered} of {parts.length} answered
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
          {failed.length === 1 ? first.name : `${failed.length} others`}
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
  if (!['aave', 'morpho', 'kamino'].includes(family)) return list.pagination.total
  return (list as AaveList).data.flatMap((each) => each.positions).length
}

function toState({ family, answer }: RequestedPart) {
  if (answer === undefined) return { kind: 'asking', text: 'loading' }
  if (!answer.ok && answer.code === 'NOT_FOUND') return { kind: 'nothing', text: 'nothing' }
  if (!answer.ok) return { kind: 'failed', text: 'failed' }
  const count = countPositions(family, answer.body)
  return count === 0 ? { kind: 'nothing', text: 'nothing' } : { kind: 'found', text: String(count) }
}
