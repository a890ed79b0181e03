import { type Address, zeroAddress } from 'viem'
import type { Holding, Holdings } from '../../family/holding.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { missing } from '../../finance/price/price.ts'
import type { Balance, Balances } from '../../finance/token/balance/read_balances.ts'
import { spamReason } from '../../finance/token/spam/spam.ts'
import { onceEach } from '../../lib/once_each.ts'
import type { HeldAsset, Pricing } from '../sum/row.ts'

/** Contracts and positions that an answer names as not read; the others are a number. */
const NAMED_MAX = 5

/** What one endpoint answered about a wallet, all at one block. */
export interface Answers {
  readonly balances: Balances
  readonly holdings: readonly Holdings[]
  /** Prices of tokens that had to be asked for by themselves. */
  readonly prices: ReadonlyMap<Address, Pricing>
}

/** What must be asked beside balances of listed tokens and holdings of families. */
export interface Further {
  /** Tokens of positions, for their balances in the wallet. */
  readonly tokens: ReadonlySet<Address>
  /** Tokens that none of these answers prices. */
  readonly unpriced: ReadonlySet<Address>
}

export const NOTHING_FURTHER: Further = { tokens: new Set(), unpriced: new Set() }

/** Where answers are from. */
interface Known {
  readonly chain: FinanceChain
  /** Tokens that the caller names. */
  readonly tokens: readonly Address[]
}

/** What must be asked besides, as far as these answers show. */
export function furtherOf(answers: Answers, { chain, tokens }: Known): Further {
  const { balances, holdings } = answers
  const rows = holdings.flatMap((each) => each.rows)
  const own = ownTokensOf(holdings)
  const asked = new Set([...chain.tokens.addresses, ...tokens])
  const inPositions = rows.map(({ token }) => token.address).filter((token) => token !== zeroAddress)
  return {
    tokens: new Set(inPositions.filter((token) => !asked.has(token) && !own.has(token))),
    unpriced: new Set([
      ...balances.rows.filter((row) => mayHavePool(row, own, chain)).map(({ token }) => token.address),
      ...rows
        .filter(({ price, token, refused }) => price === undefined && token.decimals !== undefined && !refused)
        .map(({ token }) => token.address),
    ]),
  }
}

/** True if nothing of `a` is missing from `b`. */
export function isWithin(a: Further, b: Further): boolean {
  const has = (all: ReadonlySet<Address>, some: ReadonlySet<Address>) => [...some].every((each) => all.has(each))
  return has(b.tokens, a.tokens) && has(b.unpriced, a.unpriced)
}

/** What is in one of them. */
export function union(a: Further, b: Further): Further {
  return { tokens: new Set([...a.tokens, ...b.tokens]), unpriced: new Set([...a.unpriced, ...b.unpriced]) }
}

/** The assets that answers tell of, and what is missing from them. */
export function assetsOf(answers: Answers, chain: FinanceChain): { assets: HeldAsset[]; notRead: string[] } {
  const { balances, holdings, prices } = answers
  const own = ownTokensOf(holdings)
  const rows = holdings.flatMap((each) => each.rows)
  const inPositions = new Set(rows.map(({ token }) => token.address))
  const inWallet = balances.rows
    .filter(({ token }) => !own.has(token.address))
    .map(({ token, raw, isListed, price }): HeldAsset => {
      const spam = spamIn(token, chain)
      return {
        chainId: chain.id,
        kind: 'wallet',
        token,
        amount: raw,
        price: prices.get(token.address) ?? price,
        isUnlisted: !isListed && !inPositions.has(token.address),
        refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
        position: null,
      }
    })
  const priceOf = ({ token, price }: Holding): Pricing =>
    price ?? prices.get(token.address) ?? missing('no source of its price is configured')
  const held = rows.map((row): HeldAsset => {
    const { kind, token, amount, refused, position } = row
    return { chainId: chain.id, kind, token, amount, price: priceOf(row), isUnlisted: false, refused, position }
  })
  return { assets: [...inWallet, ...held], notRead: notReadIn(answers, chain) }
}

function ownTokensOf(holdings: readonly Holdings[]): ReadonlySet<Address> {
  return new Set(holdings.flatMap(({ ownTokens }) => ownTokens))
}

/** A pool may price what has no other source, if it is worth asking. */
function mayHavePool({ token, price }: Balance, own: ReadonlySet<Address>, chain: FinanceChain): boolean {
  if (price.kind === 'price' || token.decimals === undefined || own.has(token.address)) return false
  return spamIn(token, chain) === undefined
}

function spamIn(token: Balance['token'], chain: FinanceChain): string | undefined {
  return token.address === zeroAddress ? undefined : spamReason(token, spamTokensOf(chain))
}

const spamTokensOf = onceEach(({ spamTokens }: FinanceChain) => new Set(spamTokens))

function notReadIn({ balances: { silent }, holdings }: Answers, { id }: FinanceChain): string[] {
  const said = [
    ...silent.map((token) => `token ${token}, which does not say what the wallet has`),
    ...holdings.flatMap(({ notRead }) => notRead),
  ]
  const more = said.length - NAMED_MAX
  return [
    ...said.slice(0, NAMED_MAX).map((each) => `chain ${id}: ${each}`),
    ...(more > 0 ? [`chain ${id}: ${more} more tokens and positions that do not answer`] : []),
  ]
}
