import { SOLANA_CHAIN_ID, type SolanaSession } from '../../chain/solana/client.ts'
import type { AccountGroup } from '../../chain/solana/groups.ts'
import type { ListedTokenAccount } from '../../chain/solana/searches.ts'
import { decodeMint } from '../../chain/solana/token/mint.ts'
import type { WalletTokens } from '../../chain/solana/token/wallet_tokens.ts'
import { decodeTokenAccount } from '../../chain/solana/token_account.ts'
import type { ScopePrices } from '../../finance/price/scope/prices.ts'
import { type SolanaToken, solanaSpamReason, toFallbackSymbol } from '../../finance/token/solana_token.ts'
import type { SolanaTokens } from '../../finance/token/solana_tokens.ts'
import { chunk } from '../../lib/async/chunk.ts'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import { groupBy } from '../../lib/group_by.ts'
import { createLru } from '../../lib/lru.ts'
import type { HeldAsset } from '../sum/row.ts'

/** Stands for native SOL, which has no mint: the address of the system program. */
const NATIVE = {
  address: '11111111111111111111111111111111',
  symbol: 'SOL',
  name: 'Solana',
  decimals: 9,
}
/** Mint of wrapped SOL, whose price is the price of SOL. */
const WRAPPED = 'So11111111111111111111111111111111111111112'
/** Most token accounts of one token in an item, besides the accounts that describe and price the token. */
const ACCOUNTS_PER_ITEM = 80
/** Mints whose addresses are derived, and tokens that are decoded, in one event-loop turn. */
const MINTS_PER_TURN = 25
/** Most cached decimals of mints. */
const MINTS_MAX = 200_000

/** SOL and tokens of a wallet, as of the slots of its rows; single-unit tokens as of the lists. */
interface OwnTokens {
  readonly assets: readonly HeldAsset[]
  /** Mints of single-unit tokens without decimals. */
  readonly nfts: readonly string[]
}

/** The accounts that a wallet's own tokens need, and their decoder. */
export interface OwnPlan {
  /** Lists of addresses, each to be read at one slot. */
  readonly items: readonly (readonly string[])[]
  /** Decodes the accounts; `changed` if other accounts must be read. */
  read(groups: readonly AccountGroup[]): Promise<OwnTokens | 'changed'>
}

/** One token of a wallet in all of its accounts. */
interface Holder {
  readonly mint: string
  /** Token accounts by item. */
  readonly accounts: readonly (readonly ListedTokenAccount[])[]
}

/** Creates a planner of reads of a wallet's SOL and tokens, by its list of token accounts. */
export function createOwnPlanner({ tokens, prices }: { readonly tokens: SolanaTokens; readonly prices: ScopePrices }) {
  const decimals = createLru<number>({ entriesMax: MINTS_MAX })

  /** Converts a token to a row, or returns why it has none; `groups` are the reads of its items. */
  function toRow(wallet: string, holder: Holder, groups: readonly AccountGroup[]): HeldAsset | NoRowReason {
    const [group, ...otherGroups] = groups
    // A sum over several slots may be a balance that the wallet never had.
    if (group === undefined || otherGroups.some(({ slot }) => slot !== group.slot)) return 'changed'
    const { mint } = holder
    const balances = holder.accounts.flatMap((accounts, index) =>
      accounts.map((account) => decodeBalance(groups[index] ?? group, { account, wallet })),
    )
    if (balances.includes('changed')) return 'changed'
    const amounts = balances.filter((each) => each !== 'changed').filter(({ amount }) => amount > 0n)
    const amount = amounts.reduce((sum, each) => sum + each.amount, 0n)
    if (amount === 0n) return 'nothing'
    const token = tokens.getToken(group.accounts, mint)
    if (token?.decimals === 0 && amount === 1n) return 'nft'
    const frozenAmount = amounts.reduce((sum, each) => sum + (each.isFrozen ? each.amount : 0n), 0n)
    return { ...toAsset(mint, token, group), amount, ...(frozenAmount > 0n ? { frozenAmount } : {}) }
  }

  function toAsset(mint: string, token: SolanaToken | undefined, group: AccountGroup): Omit<HeldAsset, 'amount'> {
    const { accounts, timestampSec, slot } = group
    const isScaled = token?.mint.isScaled === true
    const spam = token === undefined ? undefined : solanaSpamReason(token).reason
    return {
      ...IN_WALLET,
      slot,
      token: token ?? { address: mint, symbol: toFallbackSymbol(mint), name: '', decimals: undefined },
      price: prices.getPrice(accounts, { address: mint, isScaled }, timestampSec),
      refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
    }
  }

  function toNativeRows(wallet: string, { accounts, slot, timestampSec }: AccountGroup): HeldAsset[] {
    const amount = accounts.get(wallet)?.lamports ?? 0n
    if (amount === 0n) return []
    const price = prices.getPrice(accounts, { address: WRAPPED, isScaled: false }, timestampSec)
    return [{ ...IN_WALLET, token: NATIVE, amount, price, slot, refused: undefined }]
  }

  /**
   * Looks up which single-unit tokens have no decimals, so that nothing else about them is read, and derives the
   * metadata addresses of the other tokens, which are cached.
   */
  async function prepare(
    session: SolanaSession,
    { tokens: tokenAccounts, newestSlot: newest }: WalletTokens,
  ): Promise<void> {
    const undecoded = tokenAccounts.filter(({ amount, mint }) => amount === 1n && decimals.get(mint) === undefined)
    const items = [...new Set(undecoded.map(({ mint }) => mint))].map((mint) => [mint])
    for (const { accounts } of new Set(await session.grouped(items, { minSlot: newest, mayDiffer: true }))) {
      for (const [mint, account] of accounts) {
        const decoded = account === null ? undefined : decodeMint(account.data)
        if (decoded !== undefined) decimals.set(mint, decoded.decimals)
      }
    }
    const described = new Set(tokenAccounts.filter(({ mint }) => decimals.get(mint) !== 0).map(({ mint }) => mint))
    await mapCooperatively([...described], MINTS_PER_TURN, tokens.listUnread)
  }

  async function plan(wallet: string, tokenAccounts: readonly ListedTokenAccount[]): Promise<OwnPlan> {
    const units: string[] = []
    const holders: Holder[] = []
    for (const [mint, accounts] of groupBy(tokenAccounts, (each) => each.mint)) {
      const sum = accounts.reduce((total, { amount }) => total + amount, 0n)
      if (sum === 1n && decimals.get(mint) === 0) units.push(mint)
      else holders.push({ mint, accounts: chunk(accounts, ACCOUNTS_PER_ITEM) })
    }
    // Sort priced tokens first, so that few requests include the feed.
    holders.sort((a, b) => prices.listPriceAccounts(b.mint).length - prices.listPriceAccounts(a.mint).length)
    const native = [wallet, ...prices.listPriceAccounts(WRAPPED)]
    const toItems = ({ mint, accounts }: Holder) => {
      const shared = [...tokens.listUnread(mint), ...prices.listPriceAccounts(mint)]
      return accounts.map((chunkAccounts) => [...chunkAccounts.map(({ address }) => address), ...shared])
    }
    const items = (await mapCooperatively(holders, MINTS_PER_TURN, toItems)).flat()
    return {
      items: [native, ...items],
      async read([first, ...groups]) {
        if (first === undefined) return 'changed'
        let at = 0
        const rows = await mapCooperatively(holders, MINTS_PER_TURN, (holder) => {
          const from = at
          at += holder.accounts.length
          return toRow(wallet, holder, groups.slice(from, at))
        })
        if (rows.includes('changed')) return 'changed'
        const nfts = holders.filter((_, index) => rows[index] === 'nft').map(({ mint }) => mint)
        const assets = rows.filter((row) => typeof row === 'object')
        return { assets: [...toNativeRows(wallet, first), ...assets], nfts: [...units, ...nfts] }
      },
    }
  }
  return { prepare, plan }
}

type NoRowReason = 'changed' | 'nothing' | 'nft'

const IN_WALLET = { chainId: SOLANA_CHAIN_ID, kind: 'wallet', isUnlisted: false, position: null } as const

/** Decodes the wallet's balance in a listed token account: zero if it was closed or has another owner. */
function decodeBalance(
  { accounts }: AccountGroup,
  { account, wallet }: { readonly account: ListedTokenAccount; readonly wallet: string },
): { readonly amount: bigint; readonly isFrozen: boolean } | 'changed' {
  const tokenAccount = accounts.get(account.address)
  if (tokenAccount === undefined) return 'changed'
  const decoded = tokenAccount?.owner === account.program ? decodeTokenAccount(tokenAccount.data) : undefined
  if (decoded?.owner !== wallet) return { amount: 0n, isFrozen: false }
  return decoded.mint === account.mint ? decoded : 'changed'
}
