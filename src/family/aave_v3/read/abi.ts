import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeLensPage, type LensCursor } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { UINT256_MAX } from '../../../lib/number/fixed_point.ts'
import type { AccountData, Features, Lender, RawCategory, RawHolding, Sentinel } from '../math/state.ts'

const READ = toFunctionSelector('read(address[] providers, address[] wallets, uint256 bytesMax)')
const READ_NAMED = toFunctionSelector('readNamed(address[] providers, address[] wallets, uint256 bytesMax)')
const TOUCHED = toFunctionSelector('touched(address provider, address[] wallets)')

/** Call data to read the positions of `wallets` in the markets of `providers`. `bytesMax` limits the answer, bytes. */
export function encodeRead(query: {
  readonly providers: readonly Address[]
  readonly wallets: readonly Address[]
  readonly bytesMax: number
}): Hex {
  const { providers, wallets, bytesMax } = query
  return encodeCall(READ, encodeArray(providers), encodeArray(wallets), BigInt(bytesMax))
}

/** Call data to read one wallet's holdings in the markets of `providers`, with the names of its tokens. */
export function encodeNamed(providers: readonly Address[], wallet: Address): Hex {
  return encodeCall(READ_NAMED, encodeArray(providers), encodeArray([wallet]), UINT256_MAX)
}

/** Call data to read whether wallets ever had a movement of a supply token in the market of a provider. */
export function encodeHasMovements(provider: Address, wallets: readonly Address[]): Hex {
  return encodeCall(TOUCHED, provider, encodeArray(wallets))
}

/** Decodes whether each wallet had one; undefined without an answer. Throws `UpstreamError` for another layout. */
export function decodeHasMovements(answer: Hex) {
  const { from, block, taken } = decodeLensPage(answer)
  const answered = from.number(1) === 1
  const marks = Array.from({ length: taken }, () => from.number(1))
  if (marks.includes(2)) throw new UpstreamError('Cannot read movements: a supply token does not return its last index')
  return { block, touched: answered ? marks.map((mark) => mark === 1) : undefined }
}

const BROKEN_PARTS = [undefined, 'configuration', 'supplied', 'debt', 'category'] as const

/** The part of a wallet's account in a market that could not be read. */
export type BrokenPart = Exclude<(typeof BROKEN_PARTS)[number], undefined>

/** A wallet whose account in a market could not be read. */
type BrokenAccount = ReturnType<typeof readBroken>

/** A market, in the order of the request. */
export type RawMarket = ReturnType<typeof readMarket>

/** A reserve that at least one of the wallets holds or has enabled as collateral. */
export type RawReserve = ReturnType<typeof readReserve>

/** The tokens of a reserve and the name of its asset. */
export type RawReserveTokens = ReturnType<typeof readTokens>

/** A wallet's account in one market; `wallet` and `market` are indexes into the request. */
export type RawAccount = Readonly<ReturnType<typeof readAccount>>

/** The result of one reading of a chain; the same for every mode of reading. */
export interface RawRead {
  readonly block: Block
  /** Number of wallets that this page covers, including those without a position. */
  readonly taken: number
  readonly markets: readonly RawMarket[]
  readonly reserves: readonly RawReserve[]
  readonly categories: readonly RawCategory[]
  readonly accounts: readonly RawAccount[]
  readonly broken: readonly BrokenAccount[]
}

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout. */
export function decodeLens(answer: Hex): RawRead {
  return decode(answer, () => {
    throw new UpstreamError('Cannot decode the lens: unexpected token record')
  })
}

/** The same with the names of tokens. */
export function decodeNamed(answer: Hex): RawRead & { readonly tokens: readonly RawReserveTokens[] } {
  const tokens: RawReserveTokens[] = []
  const read = decode(answer, (from) => tokens.push(readTokens(from)))
  return { ...read, tokens }
}

function decode(answer: Hex, takeTokens: (from: LensCursor) => void): RawRead {
  const { from, block, taken } = decodeLensPage(answer)
  const markets = Array.from({ length: from.number(1) }, () => readMarket(from))
  const reserves: RawReserve[] = []
  const categories: RawCategory[] = []
  const accounts: RawAccount[] = []
  const broken: BrokenAccount[] = []
  while (!from.isAtEnd()) {
    const tag = from.number(1)
    if (tag === 1) reserves.push(readReserve(from))
    else if (tag === 2) categories.push(readCategory(from))
    else if (tag === 3) accounts.push(readAccount(from))
    else if (tag === 4) broken.push(readBroken(from))
    else if (tag === 5) takeTokens(from)
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if ([...accounts, ...broken].some(({ wallet }) => wallet >= taken)) {
    throw new UpstreamError('Cannot decode the lens: a record names a wallet beyond the page')
  }
  return { block, taken, markets, reserves, categories, accounts, broken }
}

function readMarket(from: LensCursor) {
  // The flag is also unset if the market does not count in US dollars.
  const answered = from.number(1) === 1
  /** Units of one US dollar in prices and account figures. */
  const unit = from.uint(16)
  const flags = from.number(1)
  const features: Features = {
    liquidEModes: (flags & 1) !== 0,
    zeroLtvEModes: (flags & 2) !== 0,
    isolatedEModes: (flags & 4) !== 0,
  }
  const sentinel: Sentinel = { refusesLoans: (flags & 8) !== 0, delaysLiquidations: (flags & 16) !== 0 }
  const lenders = Array.from({ length: from.number(1) }, () => readLender(from))
  return { answered, unit, features, sentinel, lenders }
}

function readLender(from: LensCursor): Lender {
  const id = from.number(2)
  const flags = from.number(1)
  return {
    id,
    isEnabled: (flags & 1) !== 0,
    isEnabledInIsolation: (flags & 2) !== 0,
    isSiloed: (flags & 4) !== 0,
    legacyCategory: from.number(1),
  }
}

function readReserve(from: LensCursor) {
  const reserve = {
    market: from.number(1),
    /** Index of the reserve in the pool, which bitmaps use. */
    id: from.number(2),
    asset: from.address(),
    /** The bits of `ReserveConfigurationMap`. */
    configuration: from.uint(32),
    liquidityRateRay: from.uint(16),
    variableBorrowRateRay: from.uint(16),
    /** Debt against this collateral in isolation mode, hundredths of a US dollar. */
    isolationDebt: from.uint(16),
  }
  const priced = from.number(1) === 1
  const price = from.uint(32)
  return {
    ...reserve,
    /** Market units for a whole token, undefined if the oracle fails. */
    price: priced ? price : undefined,
    /** Amount the pool can pay out, token units. */
    withdrawable: from.uint(16),
    /** Amount that the borrow cap of a siloed reserve leaves to lend, token units; 2^128 − 1 of another. */
    underBorrowCap: from.uint(16),
    /** End of the grace period before liquidations, Unix seconds. */
    graceUntilSec: from.uint(5),
    /** First bytes of the result of `symbol`; undefined if it failed or returned far too much. */
    symbol: from.text(),
  }
}

function readCategory(from: LensCursor): RawCategory {
  return {
    market: from.number(1),
    id: from.number(1),
    answered: from.number(1) === 1,
    ltvBps: from.uint(2),
    liquidationThresholdBps: from.uint(2),
    collateralBitmap: from.uint(16),
    zeroLtvBitmap: from.uint(16),
    borrowableBitmap: from.uint(16),
    isolated: from.number(1) === 1,
    price: from.uint(32),
  }
}

function readAccount(from: LensCursor) {
  // The category is 0 outside eMode; the data is missing if the pool does not answer.
  const [wallet, market, category] = [from.number(4), from.number(1), from.number(1)]
  const data = from.number(1) === 1 ? readAccountData(from) : undefined
  const holdings = Array.from({ length: from.number(1) }, () => readHolding(from))
  return { wallet, market, category, data, holdings }
}

function readAccountData(from: LensCursor): AccountData {
  return {
    totalCollateral: from.uint(32),
    totalDebt: from.uint(32),
    availableBorrows: from.uint(32),
    liquidationThresholdBps: from.uint(32),
    ltvBps: from.uint(32),
    healthFactorWad: from.uint(32),
  }
}

function readHolding(from: LensCursor): RawHolding {
  const reserve = from.number(2)
  const flags = from.number(1)
  return {
    reserve,
    isCollateral: (flags & 1) !== 0,
    supplied: (flags & 2) === 0 ? 0n : from.uint(32),
    variableDebt: (flags & 4) === 0 ? 0n : from.uint(32),
    stableDebt: (flags & 8) === 0 ? 0n : from.uint(32),
    stableRateRay: (flags & 8) === 0 ? 0n : from.uint(16),
  }
}

function readTokens(from: LensCursor) {
  return {
    market: from.number(1),
    id: from.number(2),
    supplyToken: from.address(),
    /** The zero address if the reserve has none. */
    stableDebtToken: from.address(),
    variableDebtToken: from.address(),
    name: from.text(),
  }
}

function readBroken(from: LensCursor) {
  const [wallet, market] = [from.number(4), from.number(1)]
  const part = BROKEN_PARTS[from.number(1)]
  if (part === undefined) throw new UpstreamError('Cannot decode the lens: unknown failure')
  return { wallet, market, part }
}
