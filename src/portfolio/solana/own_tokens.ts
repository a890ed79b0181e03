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

/** What stands for SOL itself, which has no mint: the address of the system's program. */
const NATIVE = {
  address: '11111111111111111111111111111111',
  symbol: 'SOL',
  name: 'Solana',
  decimals: 9,
}
/** Its price is that of the token that stands for one SOL. */
const WRAPPED = 'So11111111111111111111111111111111111111112'
/** Accounts of one token that are read together, beside what describes and prices the token. */
const ACCOUNTS_TOGETHER = 80
/** Mints whose addresses are derived, and tokens that are looked at, in one turn of the event loop. */
const MINTS_IN_TURN = 25
/** Mints of which it is remembered how many decimals they have. */
const MINTS_MAX = 200_000

/** What a wallet has itself, as of the slots of its rows; tokens of one unit as of the lists. */
interface OwnTokens {
  readonly assets: readonly HeldAsset[]
  /** Mints of tokens of one unit without decimals. */
  readonly nfts: readonly string[]
}

/** Which accounts a wallet's own tokens need, and what they mean. */
export interface OwnPlan {
  /** Lists of addresses, each of which is to be read at one slot. */
  readonly items: readonly (readonly string[])[]
  /** `changed` if other accounts must be read. */
  read(groups: readonly AccountGroup[]): Promise<OwnTokens | 'changed'>
}

/** One token of a wallet in all of its accounts. */
interface Holder {
  readonly mint: string
  /** Those of one item each. */
  readonly accounts: readonly (readonly ListedTokenAccount[])[]
}

/** Plans what to read of a wallet's SOL and tokens, by its list of token accounts. */
export function createOwnPlanner({ tokens, prices }: { readonly tokens: SolanaTokens; readonly prices: ScopePrices }) {
  const decimals = createLru<number>({ entriesMax: MINTS_MAX })

  /** The row of a token, or why there is none; its items were read at these slots. */
  function rowOf(wallet: string, holder: Holder, groups: readonly AccountGroup[]): HeldAsset | NoRowReason {
    const [group, ...others] = groups
    // A sum of several slots would be one that the wallet never had.
    if (group === undefined || others.some(({ slot }) => slot !== group.slot)) return 'changed'
    const { mint } = holder
    const held = holder.accounts.flatMap((accounts, index) =>
      accounts.map((account) => heldIn(groups[index] ?? group, { account, wallet })),
    )
    if (held.includes('changed')) return 'changed'
    const amounts = held.filter((each) => each !== 'changed').filter(({ amount }) => amount > 0n)
    const amount = amounts.reduce((sum, each) => sum + each.amount, 0n)
    if (amount === 0n) return 'nothing'
    const token = tokens.tokenIn(group.accounts, mint)
    if (token?.decimals === 0 && amount === 1n) return 'nft'
    const isFrozen = amounts.every((each) => each.isFrozen)
    return { ...assetOf(mint, token, group), amount, ...(isFrozen ? { frozen: true } : {}) }
  }

  function assetOf(mint: string, token: SolanaToken | undefined, group: AccountGroup): Omit<HeldAsset, 'amount'> {
    const { accounts, timestampSec, slot } = group
    const isScaled = token?.mint.isScaled === true
    const spam = token === undefined ? undefined : solanaSpamReason(token).reason
    return {
      ...IN_WALLET,
      slot,
      token: token ?? { address: mint, symbol: toFallbackSymbol(mint), name: '', decimals: undefined },
      price: prices.priceIn(accounts, { address: mint, isScaled }, timestampSec),
      refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
    }
  }

  function nativeOf(wallet: string, { accounts, slot, timestampSec }: AccountGroup): HeldAsset[] {
    const amount = accounts.get(wallet)?.lamports ?? 0n
    if (amount === 0n) return []
    const price = prices.priceIn(accounts, { address: WRAPPED, isScaled: false }, timestampSec)
    return [{ ...IN_WALLET, token: NATIVE, amount, price, slot, refused: undefined }]
  }

  /**
   * Looks up which tokens of one unit have no decimals, so that neither their names nor anything else is asked for, and
   * derives where the others are described, which is remembered.
   */
  async function prepare(session: SolanaSession, { tokens: listed, newest }: WalletTokens): Promise<void> {
    const unknown = listed.filter(({ amount, mint }) => amount === 1n && decimals.get(mint) === undefined)
    const items = [...new Set(unknown.map(({ mint }) => mint))].map((mint) => [mint])
    for (const { accounts } of new Set(await session.grouped(items, { minSlot: newest, mayDiffer: true }))) {
      for (const [mint, account] of accounts) {
        const found = account === null ? undefined : decodeMint(account.data)
        if (found !== undefined) decimals.set(mint, found.decimals)
      }
    }
    const described = new Set(listed.filter(({ mint }) => decimals.get(mint) !== 0).map(({ mint }) => mint))
    await mapCooperatively([...described], MINTS_IN_TURN, tokens.unread)
  }

  async function plan(wallet: string, listed: readonly ListedTokenAccount[]): Promise<OwnPlan> {
    const units: string[] = []
    const holders: Holder[] = []
    for (const [mint, accounts] of groupBy(listed, (each) => each.mint)) {
      const sum = accounts.reduce((total, { amount }) => total + amount, 0n)
      if (sum === 1n && decimals.get(mint) === 0) units.push(mint)
      else holders.push({ mint, accounts: chunk(accounts, ACCOUNTS_TOGETHER) })
    }
    // Those with a price beside each other, so that few requests carry the feed.
    holders.sort((a, b) => prices.addressesFor(b.mint).length - prices.addressesFor(a.mint).length)
    const native = [wallet, ...prices.addressesFor(WRAPPED)]
    const itemsOf = ({ mint, accounts }: Holder) => {
      const shared = [...tokens.unread(mint), ...prices.addressesFor(mint)]
      return accounts.map((together) => [...together.map(({ address }) => address), ...shared])
    }
    const items = (await mapCooperatively(holders, MINTS_IN_TURN, itemsOf)).flat()
    return {
      items: [native, ...items],
      async read([first, ...groups]) {
        if (first === undefined) return 'changed'
        let at = 0
        const rows = await mapCooperatively(holders, MINTS_IN_TURN, (holder) => {
          const from = at
          at += holder.accounts.length
          return rowOf(wallet, holder, groups.slice(from, at))
        })
        if (rows.includes('changed')) return 'changed'
        const nfts = holders.filter((_, index) => rows[index] === 'nft').map(({ mint }) => mint)
        const assets = rows.filter((row) => typeof row === 'object')
        return { assets: [...nativeOf(wallet, first), ...assets], nfts: [...units, ...nfts] }
      },
    }
  }
  return { prepare, plan }
}

type NoRowReason = 'changed' | 'nothing' | 'nft'

const IN_WALLET = { chainId: SOLANA_CHAIN_ID, kind: 'wallet', isUnlisted: false, position: null } as const

/** What an account that was listed holds of its token for the wallet: nothing once it is closed or another's. */
function heldIn(
  { accounts }: AccountGroup,
  { account, wallet }: { readonly account: ListedTokenAccount; readonly wallet: string },
): { readonly amount: bigint; readonly isFrozen: boolean } | 'changed' {
  const found = accounts.get(account.address)
  if (found === undefined) return 'changed'
  const held = found?.owner === account.program ? decodeTokenAccount(found.data) : undefined
  if (held?.owner !== wallet) return { amount: 0n, isFrozen: false }
  return held.mint === account.mint ? held : 'changed'
}
