import type { Asset, PositionList, ToDo } from '../../lib/shapes.ts'
import type { Context } from '../page.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import { isPending } from '../requests/polling.tsx'
import { toGroupRow, toToDoRow, toTokenRow } from './asset_row.tsx'
import { toLendingRows } from './lending_row.tsx'
import { toLiquidityRow } from './liquidity_row.tsx'
import type { HeldAsset, Row, WalletRow } from './row.ts'
import { groupByPosition, isSameName, sumCounted, toName } from './row.ts'

interface Sources {
  readonly parts: readonly RequestedPart[]
  readonly assets: readonly Asset[]
  readonly toDo: readonly ToDo[]
}

/**
 * Collects all rows of a wallet: positions of lists, then those that the portfolio alone knows, what is to be done at any
 * other, and tokens. A position whose list cannot sum its value has the sum of what the portfolio counts of it. That no list
 * has a position is known once all lists of its chain have come: its row stands then, and no other row takes its place.
 */
export function collectRows({ parts, assets, toDo }: Sources, context: Context): WalletRow[] {
  const groups = groupByPosition(assets)
  const listed = parts.flatMap((part) => toListedRows(part, context)).map((row) => addCounted(row, groups))
  const awaited = new Set(parts.flatMap(({ chainId, answer }) => (isAwaited(answer) ? [chainId] : [])))
  const isUnlisted = (name: Row['name']) =>
    !awaited.has(name.chainId) && !listed.some((row) => isSameName(row.name, name))
  const grouped = groups
    .filter(([first]) => first !== undefined && isUnlisted({ chainId: first.chain_id, subject: first.position }))
    .map((group) => toGroupRow(group, toDo, context))
  const others = toDo.filter((each) => {
    const name = toName(each)
    return isUnlisted(name) && !grouped.some((row) => isSameName(row.name, name))
  })
  const alone = [...new Map(others.map((each) => [JSON.stringify([each.chain_id, each.subject]), each])).values()]
  const rows = [
    ...listed,
    ...grouped,
    ...alone.map((each) => toToDoRow(each, context)),
    ...assets.filter(({ position }) => position === null).map((asset) => toTokenRow(asset, context)),
  ]
  return rows.map((row) => ({ ...row, context }))
}

function isAwaited(answer: RequestedPart['answer']) {
  return answer === undefined || isPending(answer)
}

const LENDING: readonly RequestedPart['family'][] = ['aave', 'morpho', 'kamino', 'lending']

function toListedRows(part: RequestedPart, context: Context): Row[] {
  const { family, protocol, answer } = part
  if (!answer?.ok) return []
  if (LENDING.includes(family)) return toLendingRows(part, context)
  const served = context.catalog.liquidity.find((each) => each.protocol === protocol)
  if (served === undefined) return []
  return (answer.body as PositionList).data.map((position) =>
    toLiquidityRow(position, { served, atSec: answer.atSec, context }),
  )
}

/**
 * Adds what the portfolio counts of a position. Its sum stands for a value that the list cannot tell, and for that of Morpho,
 * whose list values collateral by the market's own oracle: rows then sum to the net worth.
 */
function addCounted(row: Row, groups: readonly (readonly HeldAsset[])[]): Row {
  const held = groups.find(([first]) => {
    return first !== undefined && isSameName(row.name, { chainId: first.chain_id, subject: first.position })
  })
  if (held === undefined) return row
  const counted = sumCounted(held)
  if (counted === undefined || (row.value !== null && !row.isByMarket)) return { ...row, held }
  const isPartial = held.some(({ value_usd, not_counted }) => value_usd === null || not_counted !== null)
  return {
    ...row,
    held,
    value: counted,
    isPartial: isPartial || (row.value === null && !row.isByMarket && row.state.side !== 'closed'),
  }
}
