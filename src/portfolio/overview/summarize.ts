import { nameExchange, type PositionOutlook, sayAmount, TO_DO_KINDS, type ToDoKind } from '../../family/outlook.ts'
import { sumE6 } from '../../finance/price/price.ts'
import type { WithdrawalLimit } from '../../finance/withdrawable.ts'
import { groupBy } from '../../lib/group_by.ts'
import { classifyAssets } from '../sum/classify.ts'
import type { Row } from '../sum/row.ts'
import { computeTotal, type Total } from '../sum/total.ts'
import { type Earnings, summarizeEarnings } from './earnings.ts'
import { collectOutlooks, type OwnedOutlook, type OwnedRow, toKey } from './outlooks.ts'
import type { WalletChain } from './read.ts'

/** Most things to do that an answer names, the most urgent and the largest. */
const TO_DO_MAX = 100
/** Protocol of what is in the wallet itself. */
const WALLET_CODE = 'wallet'
/** Under a cent nothing is to be done. */
const LEAST_E6 = 10_000n

/** What is to be seen to. */
interface ListedToDo {
  readonly kind: ToDoKind
  readonly wallet: string
  readonly code: string
  readonly chainId: number
  /** The fields that name the position: `token_id`, `market_id`. */
  readonly subject: Readonly<Record<string, string>>
  /** What is at stake, millionths of a US dollar; undefined if no price tells. */
  readonly usdE6: bigint | undefined
  readonly text: string
}

/** Everything that several wallets have, in figures. */
export interface Summary extends Earnings {
  readonly total: Total
  /**
   * Net worths of the wallets, each summed alone as its snapshots are; undefined if one of them is. It is more than the
   * total's where several of them count on the same tokens.
   */
  readonly aloneE6: bigint | undefined
  readonly chains: readonly (Pick<Total, 'netE6' | 'gaps'> & { readonly chainId: number })[]
  readonly protocols: readonly { readonly code: string; readonly chainId: number; readonly netE6: bigint | undefined }[]
  readonly toDo: readonly ListedToDo[]
  /** Wallets on chains with anything counted. */
  readonly counted: readonly { readonly wallet: string; readonly chainId: number }[]
}

/**
 * Sums what wallets have: the same rows as their portfolios, over all wallets together, so that no bound of a price counts
 * twice.
 *
 * @figure overview/net_worth_usd, overview/assets_usd, overview/debt_usd, net_usd
 * @source definition: as of portfolios
 * @proof test/contract/portfolio/overview_test.ts
 */
export function summarize(reads: readonly WalletChain[]): Summary {
  const rows = classifyReads(reads)
  const unsourced = new Set(reads.flatMap(({ read }) => (read.isUnsourced ? [read.block.chainId] : [])))
  const listOmitted = (each: readonly WalletChain[]) => each.flatMap(({ read }) => read.omitted ?? [])
  const outlooks = collectOutlooks(reads)
  const getCode = ({ wallet, chainId, position }: OwnedRow) => {
    if (position === null) return WALLET_CODE
    const outlook = outlooks.get(toKey(wallet, chainId, position))?.outlook
    return outlook?.code ?? position.family.replaceAll('-', '_')
  }
  const readsByChain = groupBy(reads, ({ read }) => read.block.chainId)
  const rowsByChain = groupBy(rows, ({ chainId }) => chainId)
  const byPlace = groupBy(rows, (row) => `${String(row.chainId).padStart(16, '0')}:${getCode(row)}`)
  const owners = groupBy(
    rows.filter(({ verdict }) => verdict.counted),
    ({ wallet, chainId }) => `${wallet}:${chainId}`,
  )
  return {
    total: computeTotal(rows, { unsourced, omitted: listOmitted(reads) }),
    aloneE6: sumAlone(reads, unsourced),
    chains: [...readsByChain]
      .sort(([a], [b]) => a - b)
      .map(([chainId, chainReads]) => {
        const options = { unsourced, omitted: listOmitted(chainReads) }
        const { netE6, gaps } = computeTotal(rowsByChain.get(chainId) ?? [], options)
        return { chainId, netE6, gaps }
      }),
    protocols: [...byPlace]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, placeRows]) => {
        const [first] = placeRows
        if (first === undefined || !placeRows.some(({ verdict, kind }) => verdict.counted || kind === 'borrowed'))
          return []
        const { netE6 } = computeTotal(placeRows, { unsourced })
        return [{ code: getCode(first), chainId: first.chainId, netE6 }]
      }),
    ...summarizeEarnings(rows, reads, outlooks),
    toDo: listToDo(rows, outlooks, getCode),
    counted: [...owners.values()].flatMap(([first]) =>
      first === undefined ? [] : [{ wallet: first.wallet, chainId: first.chainId }],
    ),
  }
}

function sumAlone(reads: readonly WalletChain[], unsourced: ReadonlySet<number>): bigint | undefined {
  const byWallet = [...groupBy(reads, ({ wallet }) => wallet).values()]
  const nets = byWallet.map((own) => computeTotal(classifyReads(own), { unsourced }).netE6)
  return nets.reduce((sum, each) => (sum === undefined || each === undefined ? undefined : sum + each), 0n)
}

function classifyReads(reads: readonly WalletChain[]): OwnedRow[] {
  const owned = reads.flatMap(({ wallet, read }) => read.assets.map((asset) => ({ wallet, asset })))
  const rows = classifyAssets(
    owned.map(({ asset }) => asset),
    { includeUnlisted: false },
  )
  return rows.map((row, index) => ({ ...row, wallet: owned[index]?.wallet ?? '' }))
}

type Position = PositionOutlook['position']

/** Kinds that are left out where they are about nothing, or about spam. */
const IDLE_KINDS: readonly ToDoKind[] = ['out_of_range', 'uncollected']

function listToDo(
  rows: readonly OwnedRow[],
  outlooks: ReadonlyMap<string, OwnedOutlook>,
  getCode: (row: OwnedRow) => string,
): ListedToDo[] {
  const positionRows = rows.flatMap((row) => (row.position === null ? [] : [{ ...row, position: row.position }]))
  const rowsByPosition = groupBy(positionRows, ({ wallet, chainId, position }) => toKey(wallet, chainId, position))
  const told = [...outlooks].flatMap(([key, { wallet, chainId, outlook }]) =>
    outlook.toDo.flatMap(({ kind, text, concerns }): ListedToDo[] => {
      const concerned = (rowsByPosition.get(key) ?? []).filter((row) => {
        return concerns({ kind: row.kind, part: row.position['part'] })
      })
      const usdE6 = sumWorth(concerned)
      if (IDLE_KINDS.includes(kind) && (concerned.every(isSpam) || (usdE6 ?? LEAST_E6) < LEAST_E6)) return []
      return [{ kind, wallet, code: outlook.code, chainId, subject: toSubject(outlook.position), usdE6, text }]
    }),
  )
  const blocked = [...rowsByPosition.values()].flatMap((group): ListedToDo[] => {
    const blockedRows = group.filter((row) => explainBlock(row) !== undefined && !isSpam(row))
    const [first] = blockedRows
    if (first === undefined) return []
    const { wallet, chainId, position } = first
    const amounts = blockedRows.map(({ amount, token }) => sayAmount(amount, token)).join(' and ')
    const code = getCode(first)
    const text = `${amounts} in ${nameExchange(code)} cannot be withdrawn now: ${explainBlock(first)}.`
    return [
      { kind: 'blocked', wallet, code, chainId, subject: toSubject(position), usdE6: sumWorth(blockedRows), text },
    ]
  })
  const rank = ({ kind }: ListedToDo) => TO_DO_KINDS.indexOf(kind)
  const size = ({ usdE6 }: ListedToDo) => usdE6 ?? -1n
  return [...told, ...blocked]
    .sort((a, b) => rank(a) - rank(b) || (size(a) === size(b) ? 0 : size(a) < size(b) ? 1 : -1))
    .slice(0, TO_DO_MAX)
}

function toSubject({ family: _, part: __, ...subject }: Position): Readonly<Record<string, string>> {
  return subject
}

function isSpam({ verdict }: Row): boolean {
  return !verdict.counted && verdict.reason === 'spam'
}

/** Sums what rows are worth, counted or not, debts too; undefined if none has a price. */
function sumWorth(rows: readonly Row[]): bigint | undefined {
  const values = rows.flatMap(({ verdict, rest }) => [
    ...(verdict.counted ? [verdict.value] : []),
    ...toList(rest?.value),
  ])
  if (values.length === 0) return undefined
  const sum = sumE6(values)
  return sum < 0n ? -sum : sum
}

function toList<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value]
}

const LIMIT_WORDS: Readonly<Record<Exclude<WithdrawalLimit, 'health'>, string>> = {
  paused: 'it is paused',
  halted: 'it is halted',
  inactive: 'it is not active',
  liquidity: 'everything is lent',
  premium_threshold: 'the premium of its hub is too high',
  cap: 'a cap is reached',
  price: 'an oracle tells no price',
  hook: 'the hook of its pool refuses it',
  gate: 'its protocol has to allow it first',
  cooldown: 'it is still locked',
  frozen: 'the token refuses the wallet',
  revision: 'its contract is newer than this release',
}

/** Says why nothing of a row can be withdrawn; undefined if something can, or if the account's own debt holds it. */
function explainBlock({ verdict, withdrawal }: Row): string | undefined {
  if (!verdict.counted && verdict.reason === 'withdrawal_reverts') {
    return verdict.detail.charAt(0).toLowerCase() + verdict.detail.slice(1)
  }
  const limit = withdrawal?.limitedBy
  if (withdrawal?.raw !== 0n || limit === undefined || limit === 'health') return undefined
  return LIMIT_WORDS[limit]
}
