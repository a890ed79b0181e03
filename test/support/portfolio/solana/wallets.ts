import { base58 } from '@scure/base'
import { deriveMetadataAddress } from '../../../../src/chain/solana/token.ts'
import {
  reserveBytes,
  SCOPE,
  type ServedAccounts,
  scopeBytes,
  toFakeAddress,
  toServedAccount,
  writer,
} from '../../kamino.ts'
import { METADATA, metadataBytes, mintBytes, TOKEN, TOKEN_2022, tokenAccountBytes } from '../../solana_token.ts'

/*
 * Solana wallets as a node stores them, and their expected rows, decoded from the same bytes by a decoder that
 * is not the service's.
 */

export const WALLET = toFakeAddress('portfolio wallet')
export const SOL = 'So11111111111111111111111111111111111111112'
export const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
export const NATIVE = '11111111111111111111111111111111'
const SYSTEM = NATIVE
const MAIN = '7u3HeHxYDLhnCoErrtycNokbQYbWGzLs6JSDqGAv5PfF'
const FEED = toFakeAddress('portfolio feed')
/** Reserves of Kamino's main market that the service knows without a configuration. */
const RESERVES = [
  'd4A2prbA2whesmvHaL88BH6Ewn5N4bTSU2Ze8P6Bc4Q',
  'D6q6wuQSrifJKZYpR1M8R4YawnLDtDsMmWM1NbBmgJ59',
  'H3t6qZ1JkguCNTi9uzVKqQ7dvt2cum4XiXWom6Gn5e5S',
] as const

/** A mint that has a price: `value / 10^exponent` US dollars. */
export interface PricedMint {
  readonly mint: string
  readonly decimals: number
  readonly value: bigint
  readonly exponent: number
}

export const PRICED: readonly PricedMint[] = [
  { mint: SOL, decimals: 9, value: 151_23456789n, exponent: 8 },
  { mint: USDC, decimals: 6, value: 999_871n, exponent: 6 },
  { mint: toFakeAddress('taxed and priced'), decimals: 8, value: 31_000_000_017n, exponent: 15 },
]

/** A token of the wallet in its accounts. */
export interface TokenFixture {
  readonly mint: string
  readonly program: typeof TOKEN | typeof TOKEN_2022
  readonly decimals: number
  readonly symbol: string
  readonly name: string
  /** Of its extensions those that show another amount than the one that is kept. */
  readonly scaledBy?: 10 | 25
  readonly hasFee?: boolean
  /** Written into the mint instead of Metaplex's account. */
  readonly isNamedInside?: boolean
  readonly accounts: readonly {
    readonly amount: bigint
    readonly isFrozen?: boolean
    readonly isDelegated?: boolean
    /** Encrypted bytes of the confidential balance. */
    readonly isConfidential?: boolean
  }[]
}

/** Accounts that price the mints of `PRICED`. */
export function priceAccounts(nowSec: number, changes: { readonly ageSec?: number } = {}): ServedAccounts {
  const timestampSec = BigInt(nowSec - (changes.ageSec ?? 0))
  return {
    ...Object.fromEntries(
      PRICED.map(({ mint, decimals }, index) => {
        const scope = { scopeFeed: FEED, scopeChain: [index + 1], maxPriceAgeSec: 120n }
        return [RESERVES[index] ?? '', toServedAccount(reserveBytes({ market: MAIN, mint, decimals, ...scope }))]
      }),
    ),
    [FEED]: toServedAccount(
      scopeBytes(
        PRICED.map(({ value, exponent }, index) => ({
          index: index + 1,
          value,
          exponent: BigInt(exponent),
          timestampSec,
        })),
      ),
      SCOPE,
    ),
  }
}

/** A wallet's accounts, as a node has them. */
export function walletAccounts(
  wallet: string,
  { lamports, tokens }: { readonly lamports: bigint; readonly tokens: readonly TokenFixture[] },
): ServedAccounts {
  const all: ServedAccounts = lamports === 0n ? {} : { [wallet]: { owner: SYSTEM, data: new Uint8Array(), lamports } }
  for (const token of tokens) {
    const { mint, program, decimals, symbol, name, scaledBy, isNamedInside } = token
    const extensions = scaledBy === undefined ? [] : [[scaledBy, new Uint8Array(52)] as const]
    const fee = { epoch: 0n, max: 10n ** 12n, bps: 250 }
    all[mint] = toServedAccount(
      mintBytes({
        decimals,
        supply: 10n ** 18n,
        extensions,
        ...(token.hasFee === true ? { fees: { older: fee, newer: fee } } : {}),
        ...(isNamedInside === true ? { named: { symbol, name } } : {}),
      }),
      program,
    )
    if (isNamedInside !== true)
      all[deriveMetadataAddress(mint)] = toServedAccount(metadataBytes({ mint, symbol, name }), METADATA)
    for (const [index, account] of token.accounts.entries()) {
      const bytes = tokenAccountBytes({
        mint,
        owner: wallet,
        amount: account.amount,
        state: account.isFrozen === true ? 2 : 1,
        ...(account.isDelegated === true ? { delegate: toFakeAddress('delegate') } : {}),
        isExtended: program === TOKEN_2022,
      })
      const data = account.isConfidential === true ? withConfidential(bytes) : bytes
      all[toFakeAddress(`${wallet} ${mint} ${index}`)] = { owner: program, data, lamports: 2_039_280n }
    }
  }
  return all
}

/** The account with the extension that keeps an encrypted balance. */
function withConfidential(bytes: Uint8Array): Uint8Array {
  const head = writer(4)
  head.uint(0, 5n, 2)
  head.uint(2, 295n, 2)
  return new Uint8Array(Buffer.concat([bytes.subarray(0, 166), head.bytes, new Uint8Array(295).fill(7)]))
}

/** A row that an answer must have. */
export interface ExpectedRow {
  readonly mint: string
  readonly raw: string
  readonly decimals: number
  readonly isFrozen: boolean
  readonly price: PricedMint | undefined
}

/** Computes the expected rows of a wallet's own tokens from its accounts. */
export function computeExpected(
  accounts: ServedAccounts,
  wallet: string,
): { readonly rows: readonly ExpectedRow[]; readonly nfts: number } {
  const held = new Map<string, { amount: bigint; movable: bigint }>()
  for (const { owner, data } of Object.values(accounts)) {
    const isTokens = owner === TOKEN || owner === TOKEN_2022
    const isAccount = isTokens && (data.length === 165 || (data.length > 165 && data[165] === 2))
    if (!isAccount || base58.encode(data.slice(32, 64)) !== wallet) continue
    const mint = base58.encode(data.slice(0, 32))
    const amount = new DataView(data.buffer, data.byteOffset).getBigUint64(64, true)
    const before = held.get(mint) ?? { amount: 0n, movable: 0n }
    const movable = before.movable + (data[108] === 2 ? 0n : amount)
    held.set(mint, { amount: before.amount + amount, movable })
  }
  const { lamports = 0n } = accounts[wallet] ?? {}
  const rows: ExpectedRow[] = []
  const findPrice = (mint: string) => PRICED.find((each) => each.mint === mint)
  if (lamports > 0n) {
    rows.push({ mint: NATIVE, raw: String(lamports), decimals: 9, isFrozen: false, price: findPrice(SOL) })
  }
  let nfts = 0
  for (const [mint, { amount, movable }] of held) {
    const bytes = accounts[mint]?.data ?? new Uint8Array(45)
    const decimals = bytes[44] ?? 0
    if (amount === 0n) continue
    if (amount === 1n && decimals === 0) nfts++
    else {
      const price = isShownOtherwise(bytes) ? undefined : findPrice(mint)
      rows.push({ mint, raw: String(amount), decimals, isFrozen: movable === 0n, price })
    }
  }
  return { rows, nfts }
}

function isShownOtherwise(mint: Uint8Array): boolean {
  for (let at = 166; at + 4 <= mint.length; ) {
    const kind = (mint[at] ?? 0) + 256 * (mint[at + 1] ?? 0)
    if (kind === 10 || kind === 25) return true
    at += 4 + (mint[at + 2] ?? 0) + 256 * (mint[at + 3] ?? 0)
  }
  return false
}

/** Digits after the point in which values are summed here: more than any price and token have together. */
const DIGITS = 40

/** What rows are worth together, millionths of a dollar, rounded half away from zero. */
export function worthE6(rows: readonly Pick<ExpectedRow, 'raw' | 'decimals' | 'price'>[]): bigint {
  let sum = 0n
  for (const { raw, decimals, price } of rows) {
    if (price !== undefined) sum += BigInt(raw) * price.value * 10n ** BigInt(DIGITS - decimals - price.exponent)
  }
  const half = 10n ** BigInt(DIGITS - 6) / 2n
  return (sum + half) / 10n ** BigInt(DIGITS - 6)
}
