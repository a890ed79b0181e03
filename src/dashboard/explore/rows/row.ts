import type { ComponentChildren } from 'preact'
import { sumDollars } from '../../lib/decimal.ts'
import type { Asset, ToDo } from '../../lib/shapes.ts'
import type { Context } from '../page.tsx'
import type { Watched } from '../trigger/bell.tsx'
import type { RowRate } from './rate.ts'

/** One line of the list: a position, or a token in the wallet. */
export interface Row {
  /** Unique in the list. */
  readonly key: string
  readonly kind: 'liquidity' | 'lending' | 'wallet'
  /** `USDC / WETH`. */
  readonly what: string
  /** Told apart from others of the same name by it: `#2`. */
  readonly tag: string
  readonly tokens: readonly RowToken[]
  readonly where: string
  /** US dollars; null if nothing of it has a price. */
  readonly value: string | null
  /** True if the value is that of the market's own oracle. */
  readonly isByMarket?: boolean
  /** True if a part of it has no price. */
  readonly isPartial: boolean
  readonly state: RowState
  readonly rate: RowRate | undefined
  /** US dollars since it was opened. */
  readonly profit: string | undefined
  /** Uncollected, US dollars. */
  readonly fees: string | undefined
  /** What its bell watches. */
  readonly watched: Watched | undefined
  readonly name: PositionName
  /** What the portfolio counts of it; absent of a token. */
  readonly held?: readonly HeldAsset[]
  /** Draws its card. */
  readonly draw: (held: readonly HeldAsset[]) => ComponentChildren
}

/** A row of one of the wallets that are shown. */
export interface WalletRow extends Row {
  readonly context: Context
}

/** Returns the id of the element that shows a row. */
export function toRowId({ key, context: { view } }: WalletRow) {
  return `row ${view.wallet} ${key}`.replaceAll(/[^0-9A-Za-z]+/g, '-')
}

/** A token of a row: its mark is drawn from the id. */
export interface RowToken {
  readonly id: string
  readonly symbol: string
}

/** Range, health or price of a row. */
export interface RowState {
  readonly mood: 'good' | 'warn' | 'bad' | 'soft'
  readonly text: string
  /** The most urgent first. */
  readonly urgency: number
  /** Where the price is in the range, both in percent of the picture's width. */
  readonly range?: { readonly from: number; readonly to: number; readonly now: number }
  /** Of liquidity. */
  readonly side?: 'in' | 'out' | 'closed'
}

/** What names a position: its chain, and the fields of its protocol. */
export interface PositionName {
  readonly chainId: number
  readonly subject: Readonly<Record<string, unknown>>
}

/** Fields that name a position on its chain, beside which others only say more. */
const NAMING = ['token_id', 'market_id', 'obligation_address', 'position_address']

/** True if two names are of the same position: what both say of it agrees. */
export function isSameName(a: PositionName, b: PositionName) {
  const shared = Object.keys(a.subject).filter((field) => field !== 'part' && field in b.subject)
  const toId = (value: unknown) => (/^0x/i.test(String(value)) ? String(value).toLowerCase() : String(value))
  return (
    a.chainId === b.chainId &&
    shared.some((field) => NAMING.includes(field)) &&
    shared.every((field) => toId(a.subject[field]) === toId(b.subject[field]))
  )
}

/** Returns the name of what is to be done something about. Families may name their markets alike. */
export function toName({
  chain_id: chainId,
  subject,
  code,
}: Pick<ToDo, 'chain_id' | 'subject' | 'code'>): PositionName {
  const family = 'market_id' in subject ? { family: code.replaceAll('_', '-') } : {}
  return { chainId, subject: { ...family, ...subject } }
}

/** A row of the portfolio that is part of a position. */
export type HeldAsset = Asset & { readonly position: NonNullable<Asset['position']> }

/** Groups rows of the portfolio by position; what is in the wallet itself is not among them. */
export function groupByPosition(assets: readonly Asset[]): HeldAsset[][] {
  const groups: HeldAsset[][] = []
  for (const asset of assets.filter((each): each is HeldAsset => each.position !== null)) {
    const name = { chainId: asset.chain_id, subject: asset.position }
    const group = groups.find(([first]) => {
      return first !== undefined && isSameName({ chainId: first.chain_id, subject: first.position }, name)
    })
    if (group === undefined) groups.push([asset])
    else group.push(asset)
  }
  return groups
}

/** Sums what is counted of rows of the portfolio, debts too; undefined if nothing is. */
export function sumCounted(held: readonly Asset[]) {
  const values = held.flatMap(({ value_usd: usd }) => usd ?? [])
  return values.length === 0 ? undefined : sumDollars(values)
}
