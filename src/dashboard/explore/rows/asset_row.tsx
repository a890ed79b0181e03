import { shortenAddress } from '../../lib/address.ts'
import { chainName } from '../../lib/catalog.ts'
import { formatDollars, sumDollars } from '../../lib/decimal.ts'
import { nameProtocol } from '../../lib/protocol.ts'
import type { Asset, ToDo } from '../../lib/shapes.ts'
import type { Context } from '../page.tsx'
import type { Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { AssetCard } from './asset_card.tsx'
import { describeHealth } from './lending_row.tsx'
import type { HeldAsset, Row, RowState } from './row.ts'
import { isSameName, toName } from './row.ts'

/** Converts a token that is in the wallet itself. */
export function toTokenRow(asset: Asset, context: Context): Row {
  const { token, chain_id: chainId, price_usd: price, incomplete } = asset
  const chain = chainName(context.catalog, chainId)
  return {
    key: `token ${chainId} ${token.id}`,
    kind: 'wallet',
    what: token.symbol,
    tag: '',
    tokens: [{ id: token.id, symbol: token.symbol }],
    where: `in the wallet, ${chain}`,
    value: asset.value_usd,
    isPartial: asset.not_counted !== null || incomplete.length > 0,
    state: { mood: 'soft', text: price === null ? 'no price' : `at ${formatDollars(price)}`, urgency: 0 },
    rate: undefined,
    profit: undefined,
    fees: undefined,
    watched: undefined,
    name: { chainId, subject: {} },
    draw: () => <AssetCard title={token.symbol} place={`In the wallet on ${chain}`} assets={[asset]} toDo={[]} />,
  }
}

/** Parts that wait to be collected, all of a closed position. */
const COLLECTABLE = ['fees', 'owed', 'withdrawn', 'rewards']

/** Converts the rows of a position for which the page has no list: whatever its protocol, by its kind. */
export function toGroupRow(group: readonly HeldAsset[], toDo: readonly ToDo[], context: Context): Row {
  const [{ chain_id: chainId, position }] = group as [HeldAsset, ...HeldAsset[]]
  const name = { chainId, subject: position }
  const own = toDo.filter((each) => isSameName(toName(each), name))
  const chain = chainName(context.catalog, chainId)
  const protocol = nameProtocol(own[0]?.code ?? position.family)
  const symbols = [...new Set(group.map(({ token }) => token.symbol))]
  const values = group.flatMap(({ value_usd: usd }) => usd ?? [])
  const tag = typeof position['token_id'] === 'string' ? `#${shortenAddress(position['token_id'])}` : ''
  const what = symbols.length > 3 ? `${symbols.length} tokens` : symbols.join(' / ')
  const watched = watchGroup(group, { what, protocol, context })
  return {
    key: `group ${chainId} ${position.family} ${JSON.stringify(Object.values(position))}`,
    kind: group.some(({ kind }) => kind === 'liquidity') ? 'liquidity' : 'lending',
    what,
    tag,
    tokens: group.map(({ token }) => ({ id: token.id, symbol: token.symbol })),
    where: `${protocol}, ${chain}`,
    value: values.length === 0 ? null : sumDollars(values),
    isPartial: group.some(({ value_usd, not_counted }) => value_usd === null || not_counted !== null),
    state: describeGroup(group, own),
    rate: undefined,
    profit: undefined,
    fees: undefined,
    watched,
    name,
    draw: () => (
      <AssetCard title={`${what} ${tag}`} place={`${protocol} on ${chain}`} assets={group} toDo={own}>
        {watched && <TriggerBell watched={watched} context={context} />}
      </AssetCard>
    ),
  }
}

/** The health factor that the portfolio tells of a position that owes. */
function findHealth(group: readonly HeldAsset[]) {
  return group.find(({ health_factor: factor }) => typeof factor === 'string')?.health_factor ?? undefined
}

/** What a bell at a position of any protocol watches: the health of one that owes. */
function watchGroup(group: readonly HeldAsset[], { what, protocol, context }: GroupNames): Watched | undefined {
  const [first] = group
  if (first === undefined || !group.some(({ kind }) => kind === 'borrowed')) return undefined
  const { family, part: _, ...fields } = first.position
  return {
    chainId: first.chain_id,
    family,
    subject: { wallet: context.view.wallet, ...toTexts(fields) },
    name: `${protocol}, ${what}`,
    figure: 'health_factor',
    value: findHealth(group) ?? 'MAX',
  }
}

interface GroupNames {
  readonly what: string
  readonly protocol: string
  readonly context: Context
}

function toTexts(fields: Readonly<Record<string, unknown>>) {
  const texts = Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string')
  return Object.fromEntries(texts)
}

const MOODS: Record<ToDo['kind'], Pick<RowState, 'mood' | 'text' | 'urgency'>> = {
  liquidatable: { mood: 'bad', text: 'can be liquidated', urgency: 5 },
  near_liquidation: { mood: 'bad', text: 'near liquidation', urgency: 4 },
  due: { mood: 'warn', text: 'falls due', urgency: 3.5 },
  blocked: { mood: 'bad', text: 'cannot be withdrawn', urgency: 3 },
  out_of_range: { mood: 'warn', text: 'out of range', urgency: 2 },
  uncollected: { mood: 'warn', text: 'to collect', urgency: 1.8 },
  unreadable: { mood: 'warn', text: 'cannot be read', urgency: 1.7 },
}

function describeGroup(group: readonly HeldAsset[], own: readonly ToDo[]): RowState {
  const isClosed = group.every(({ position }) => COLLECTABLE.includes(String(position['part'])))
  const side = isClosed ? ({ side: 'closed' } as const) : {}
  const [first] = own
  if (first !== undefined) return { ...MOODS[first.kind], ...side }
  if (isClosed) return { mood: 'warn', text: 'to collect', urgency: 1.8, ...side }
  const owes = group.some(({ kind }) => kind === 'borrowed')
  const health = findHealth(group)
  if (owes && health !== undefined) return describeHealth(health)
  return { mood: 'soft', text: owes ? 'owes' : 'no debt', urgency: 0 }
}

/** Converts something to do at a position of which no answer has a row. */
export function toToDoRow(toDo: ToDo, context: Context): Row {
  const { code, chain_id: chainId, subject, usd, kind, text } = toDo
  const place = `${nameProtocol(code)}, ${chainName(context.catalog, chainId)}`
  const id = String(Object.values(subject).at(-1) ?? '')
  const tag = shortenAddress(id)
  return {
    key: `to do ${chainId} ${code} ${JSON.stringify(subject)}`,
    kind: subject['market_id'] === undefined ? 'liquidity' : 'lending',
    what: nameProtocol(code),
    tag: `#${subject['token_id'] ?? tag}`,
    tokens: [{ id, symbol: code }],
    where: place,
    value: usd,
    isPartial: false,
    state: MOODS[kind],
    rate: undefined,
    profit: undefined,
    fees: undefined,
    watched: undefined,
    name: toName(toDo),
    draw: () => <AssetCard title={text} place={place} assets={[]} toDo={[toDo]} />,
  }
}
