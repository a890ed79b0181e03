import type { ComponentChildren } from 'preact'
import { shortenAddress } from '../../lib/address.ts'
import { formatDollars, formatRatioAsPercent, formatSignedDollars, isNegative, isPositive } from '../../lib/decimal.ts'
import { toWalletId } from '../../lib/link.ts'
import { getCardsShown, getStoredName, storeCardsShown } from '../../lib/session.ts'
import type { ToDo } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { classes, useEffect, useState } from '../../lib/view.ts'
import { Choice } from '../../part/field.tsx'
import { Guard } from '../../part/guard.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { TokenMarks } from './mark.tsx'
import { usePlaces } from './places.ts'
import type { Row, WalletRow } from './row.ts'
import { isSameName, toName, toRowId } from './row.ts'
import type { Order } from './sort.ts'
import { BY_VALUE } from './sort.ts'

const BY: readonly (readonly [Order['by'], string])[] = [
  ['what', 'what'],
  ['where', 'where'],
  ['wallet', 'wallet'],
  ['value', 'value'],
  ['state', 'range or health'],
  ['rate', 'rate'],
  ['profit', 'profit and loss'],
  ['fees', 'uncollected fees'],
]
const SHOW: readonly (readonly [Order['show'], string])[] = [
  ['all', 'all'],
  ['liquidity', 'liquidity'],
  ['lending', 'lending'],
  ['wallet', 'in the wallet'],
  ['in', 'in range'],
  ['out', 'out of range'],
  ['closed', 'closed'],
]
const LEAST: readonly (readonly [string, string])[] = [
  ['0', 'nothing'],
  ['1', 'below $1'],
  ['10', 'below $10'],
  ['100', 'below $100'],
]

const HEADS: readonly (readonly [column: string, head: string])[] = [
  ['what', 'What'],
  ['where', 'Where'],
  ['wallet', 'Wallet'],
  ['value', 'Value'],
  ['state', 'Range or health'],
  ['rate', 'Rate a year'],
  ['profit', 'Profit'],
  ['bell', ''],
]

/** A thing to do whose row was asked for; `at` counts how often. */
export interface Wanted {
  readonly toDo: ToDo
  readonly at: number
}

interface RowListProps {
  readonly rows: readonly WalletRow[]
  /** Whether several wallets are shown. */
  readonly areMany: boolean
  /** Thing to do whose row is asked for. */
  readonly wanted: Wanted | undefined
  readonly aside: ComponentChildren
}

/** All positions and tokens of the wallets, one line each, which opens into its card in place. */
export function RowList({ rows, areMany, wanted, aside }: RowListProps) {
  const [order, setOrder] = useState(BY_VALUE)
  const [areAll, setAll] = useState(getCardsShown())
  /** Rows that are the other way than all. */
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set())
  const { placed, listProps } = usePlaces(rows, order)
  const hidden = rows.length - placed.length
  const set = (name: keyof Order) => (chosen: string) => setOrder({ ...order, [name]: chosen } as Order)
  const isOpen = (key: string) => areAll !== turned.has(key)
  const turn = (key: string, open = !isOpen(key)) => {
    const next = new Set(turned)
    if (open === areAll) next.delete(key)
    else next.add(key)
    setTurned(next)
  }
  const turnAll = () => {
    storeCardsShown(!areAll)
    setAll(!areAll)
    setTurned(new Set())
  }
  useEffect(() => {
    const row =
      wanted &&
      rows.find(({ name, context: { view } }) => {
        return toWalletId(view.wallet) === toWalletId(wanted.toDo.wallet) && isSameName(name, toName(wanted.toDo))
      })
    if (row === undefined) return
    setOrder({ ...order, show: 'all', least: '0' })
    turn(toRowId(row), true)
    // Once the row is drawn: a filter may have hidden it.
    requestAnimationFrame(() => {
      const line = document.getElementById(toRowId(row))
      line?.scrollIntoView({ block: 'start' })
      line?.querySelector('button')?.focus({ preventScroll: true })
    })
  }, [wanted?.at])
  return (
    <>
      <div class="rows-bar">
        <Choice
          label="Sort by"
          value={order.by}
          options={areMany ? BY : BY.filter(([by]) => by !== 'wallet')}
          onValue={set('by')}
        />
        <Choice label="Show" value={order.show} options={SHOW} onValue={set('show')} />
        <Choice label="Hide" value={order.least} options={LEAST} onValue={set('least')} />
        {aside}
        <button type="button" class="small" aria-pressed={areAll} onClick={turnAll}>
          {areAll ? 'Close all' : 'Open all'}
        </button>
        <p class="soft" role="status">
          {hidden > 0 && `${pluralize(hidden, 'row')} hidden.`}
        </p>
      </div>
      <div class={classes('rows', areMany && 'of-many')} role="group" aria-label="Rows">
        <p class="line heads" aria-hidden="true">
          {HEADS.filter(([column]) => areMany || column !== 'wallet').map(([column, head]) => (
            <span class={`line-${column}`}>{head}</span>
          ))}
        </p>
        <ul {...listProps}>
          {placed.map((row) => {
            const id = toRowId(row)
            return (
              <li class={classes('row', isOpen(id) && 'open')} key={id} id={id}>
                <Line row={row} areMany={areMany} isOpen={isOpen(id)} onTurn={() => turn(id)} />
                {isOpen(id) && (
                  <div class="row-card">
                    <Guard>{row.draw(row.held ?? [])}</Guard>
                  </div>
                )}
              </li>
            )
          })}
        </ul>
      </div>
    </>
  )
}

interface LineProps {
  readonly row: WalletRow
  readonly areMany: boolean
  readonly isOpen: boolean
  readonly onTurn: () => void
}

function Line({ row, areMany, isOpen, onTurn }: LineProps) {
  const { wallet } = row.context.view
  const { tokens, what, tag, where, value, isPartial, state, rate, profit, watched } = row
  return (
    <div class="line">
      <h3 class="line-what">
        <button type="button" aria-expanded={isOpen} onClick={onTurn} title={`${what} ${tag}`}>
          <TokenMarks tokens={tokens} />
          <span class="line-name">{what}</span> <span class="line-tag soft">{tag}</span>
        </button>
      </h3>
      <span class="line-where soft" title={where}>
        {where}
      </span>
      {areMany && (
        <span class="line-wallet soft" title={wallet}>
          {getStoredName(wallet) ?? shortenAddress(wallet)}
        </span>
      )}
      <span class="line-value" title={value === null ? undefined : `${value} USD`}>
        {value !== null && isPartial && <span class="soft">at least </span>}
        {value === null ? <span class="absent">not counted</span> : formatDollars(value)}
      </span>
      <span class={classes('line-state', state.mood)} title={state.text}>
        {state.range && <RangeMark {...state.range} />}
        <span>{state.text}</span>
      </span>
      <span class="line-rate" title={rate?.words}>
        {rate === undefined ? '–' : formatRatioAsPercent(rate.ratio)}
      </span>
      <span
        class={classes(
          'line-profit',
          profit !== undefined && isPositive(profit) && 'good',
          profit !== undefined && isNegative(profit) && 'bad',
        )}
        title={profit === undefined ? undefined : `Profit and loss ${profit} USD`}
      >
        {profit === undefined ? '–' : formatSignedDollars(profit)}
      </span>
      <span class="line-bell">{watched && <TriggerBell watched={watched} context={row.context} isBrief />}</span>
    </div>
  )
}

/** The range, and where the price is. */
function RangeMark({ from, to, now }: NonNullable<Row['state']['range']>) {
  return (
    <svg class="range-mark" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
      <rect x={from} y="4" width={Math.max(to - from, 2)} height="8" />
      <line x1={now} x2={now} y1="0" y2="16" />
    </svg>
  )
}
