import type { Answer, Failure } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import type { Liquidity } from '../../lib/catalog.ts'
import { useSignal } from '../../lib/hooks.ts'
import type { FullPosition, Position, PositionEvent } from '../../lib/shapes.ts'
import { formatDay, pluralize } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
import { DefinitionList } from '../../part/figure.tsx'
import { ErrorNotice, LoadingNotice } from '../../part/notice.tsx'
import type { Context } from '../page.tsx'
import { formatQuery } from '../requests/plan.ts'
import { feeAprOfDays } from './fee_apr.ts'
import type { Past } from './past.ts'
import { readPast } from './past.ts'
import { FeeApr } from './rate.tsx'

const DAY_SEC = 86_400
/** Windows of the fee APR, days. */
const WINDOWS = [7, 30]
/** Midnights at which the position is read to compute its time in range. */
const MIDNIGHTS_MAX = 30

interface PositionAnswer {
  readonly data: FullPosition
}

/**
 * Figures that need past blocks, read on request because they cost credits: the fee APR over the last days, and the time
 * in range.
 */
interface Props {
  readonly position: Position
  /** Oldest first. */
  readonly flows: readonly PositionEvent[]
  /** Path of the position. */
  readonly base: string
  readonly target: Record<string, string | number>
  readonly untilSec: number
  readonly served: Liquidity
  readonly context: Context
}

export function LookBack(props: Props) {
  const { flows, untilSec, context } = props
  if (!context.catalog.atTime) return null
  const openedSec = flows[0]?.timestamp ?? untilSec
  const windows = WINDOWS.filter((days) => untilSec - days * DAY_SEC >= openedSec)
  const midnights = listMidnights(openedSec, untilSec)
  return (
    <>
      {windows.length > 0 && <Windows {...props} windows={windows} />}
      {midnights.length > 0 && <InRange {...props} midnights={midnights} />}
    </>
  )
}

/** Lists midnights (UTC) since the opening, newest first, because endpoints may keep no state of older ones. */
function listMidnights(openedSec: number, untilSec: number) {
  const last = Math.floor(untilSec / DAY_SEC)
  const count = Math.min(MIDNIGHTS_MAX, last - Math.ceil(openedSec / DAY_SEC) + 1)
  return Array.from({ length: Math.max(0, count) }, (_, index) => (last - index) * DAY_SEC)
}

/**
 * Reads the position at past moments on `start`; a further `start` reads those that are left. Ends with its part of the
 * page.
 */
function usePast({
  moments,
  full,
  base,
  target,
  context: { key },
}: Props & { moments: readonly number[]; full: boolean }) {
  const [past, setPast] = useState<Past | undefined>(undefined)
  const startSignal = useSignal()
  const { positions = [], failure } = past ?? {}
  const start = () => {
    const signal = startSignal()
    const read = (at_time: number): Promise<Answer<PositionAnswer> | Failure> =>
      requestApi(`${base}?${formatQuery({ ...target, at_time, ...(full && { full: 'true' }) })}`, { key, signal })
    readPast(moments, { positions, signal, read, onPast: setPast }).catch((error) => {
      if (!signal.aborted) throw error
    })
  }
  return { isStarted: past !== undefined, positions, failure, start }
}

function Windows({ windows, ...props }: Props & { windows: readonly number[] }) {
  const { position, flows, untilSec, served } = props
  const moments = windows.map((days) => untilSec - days * DAY_SEC)
  const { isStarted, positions, failure, start } = usePast({ ...props, moments, full: true })
  const now = position as FullPosition
  const names = `Fee APR over ${windows.join(' and ')} days`
  if (!isStarted)
    return (
      <p class="more">
        <button type="button" onClick={start}>
          {names} <i>{pluralize(windows.length * served.credits.full, 'credit')}</i>
        </button>
      </p>
    )
  return (
    <>
      <DefinitionList
        rows={positions.map((before, index) => [
          <>
            <a href="formulas#explore.fee_apr_of_days">Fee APR</a> of {windows[index]} days
          </>,
          <FeeApr rate={feeAprOfDays({ before, now, flows, fromSec: moments[index] ?? 0, untilSec })} />,
        ])}
      />
      {failure && (
        <ErrorNotice
          failure={failure}
          title={`The position ${windows[positions.length]} days ago could not be read, so that fee APR is not shown`}
          onRetry={start}
        />
      )}
      {!failure && positions.length < windows.length && <LoadingNotice>The position as it was</LoadingNotice>}
    </>
  )
}

function InRange({ midnights, ...props }: Props & { midnights: readonly number[] }) {
  const { isStarted, positions, failure, start } = usePast({ ...props, moments: midnights, full: false })
  if (!isStarted)
    return (
      <p class="more">
        <button type="button" onClick={start}>
          Time in range, {pluralize(midnights.length, 'midnight')}{' '}
          <i>{pluralize(midnights.length * props.served.credits.single, 'credit')}</i>
        </button>
      </p>
    )
  const inside = positions.map(wasInRange)
  const days = inside.map((yes, index) => ({
    yes,
    text: `${formatDay(midnights[index] ?? 0)}: ${yes ? 'in range' : 'out of range'}`,
  }))
  const count = inside.filter(Boolean).length
  return (
    <div class="in-range">
      {inside.length > 0 && (
        <p>
          In range at{' '}
          <b>
            {count} of {inside.length}
          </b>{' '}
          midnights (UTC), <b>{Math.round((count / inside.length) * 100)} %</b>.{' '}
          <span class="soft">Events in between are not read.</span>
        </p>
      )}
      <ol class="strip" aria-label="Midnights, oldest first">
        {days.toReversed().map(({ yes, text }) => (
          <li class={yes ? 'good' : 'warn'} title={text}>
            <span class="visually-hidden">{text}</span>
          </li>
        ))}
      </ol>
      {failure && (
        <ErrorNotice
          failure={failure}
          title={`${formatDay(midnights[positions.length] ?? 0)} could not be read, so nothing before it is shown`}
          onRetry={start}
        />
      )}
      {!failure && positions.length < midnights.length && (
        <LoadingNotice>
          Midnight {positions.length + 1} of {midnights.length}
        </LoadingNotice>
      )}
    </div>
  )
}

/** Returns whether the position was in range: the range includes the lower tick, not the upper. */
function wasInRange({ is_active: isActive, position_state: { tickLower, tickUpper, pool } }: Position) {
  const tick = Number(pool.tick)
  return isActive && Number(tickLower) <= tick && tick < Number(tickUpper)
}
