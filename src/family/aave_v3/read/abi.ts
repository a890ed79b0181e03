import { type Address, type Hex, toFunctionSelector } from 'viem'
import { type LensCursor, openLensPage } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { UINT256_MAX } from '../../../lib/number/fixed_point.ts'
import type {
  AccountData,
  BrokenAccount,
  BrokenPart,
  RawAccount,
  RawCategory,
  RawHolding,
  RawMarket,
  RawRead,
  RawReserve,
  RawReserveTokens,
} from './state.ts'

const READ = toFunctionSelector('read(address[] providers, address[] wallets, uint256 bytesMax)')
const READ_NAMED = toFunctionSelector('readNamed(address[] providers, address[] wallets, uint256 bytesMax)')
const TOUCHED = toFunctionSelector('touched(address provider, address[] wallets)')

/** Call data to read the positions of `wallets` in the markets of `providers`. `bytesMax` limits the answer, bytes. */
export function encodeRead(question: {
  readonly providers: readonly Address[]
  readonly wallets: readonly Address[]
  readonly bytesMax: number
}): Hex {
  const { providers, wallets, bytesMax } = question
  return encodeCall(READ, encodeArray(providers), encodeArray(wallets), BigInt(bytesMax))
}

/** Call data to read what one wallet holds in the markets of `providers`, with the names of its tokens. */
export function encodeNamed(providers: readonly Address[], wallet: Address): Hex {
  return encodeCall(READ_NAMED, encodeArray(providers), encodeArray([wallet]), UINT256_MAX)
}

/** Call data to ask whether wallets ever had a movement of a supply token in the market of a provider. */
export function encodeTouched(provider: Address, wallets: readonly Address[]): Hex {
  return encodeCall(TOUCHED, provider, encodeArray(wallets))
}

/** Whether each wallet had one; undefined if the market does not answer. Throws `UpstreamError` for another layout. */
export function decodeTouched(answer: Hex) {
  const { from, block, taken } = openLensPage(answer)
  const answered = from.number(1) === 1
  const marks = Array.from({ length: taken }, () => from.number(1))
  if (marks.includes(2)) throw new UpstreamError('A supply token does not say when it last moved')
  return { block, touched: answered ? marks.map((mark) => mark === 1) : undefined }
}

const BROKEN_PARTS: readonly (BrokenPart | undefined)[] = [undefined, 'configuration', 'supplied', 'debt', 'category']

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for any other. */
export function decodeLens(answer: Hex): RawRead {
  return decode(answer, () => {
    throw new UpstreamError('Cannot decode the lens: it sends what it was not asked for')
  })
}

/** The same with the names of tokens. */
export function decodeNamed(answer: Hex): RawRead & { readonly tokens: readonly RawReserveTokens[] } {
  const tokens: RawReserveTokens[] = []
  const read = decode(answer, (from) => tokens.push(readTokens(from)))
  return { ...read, tokens }
}

function decode(answer: Hex, takeTokens: (from: LensCursor) => void): RawRead {
  const { from, block, taken } = openLensPage(answer)
  const markets = Array.from({ length: from.number(1) }, () => readMarket(from))
  const reserves: RawReserve[] = []
  const categories: RawCategory[] = []
  const accounts: RawAccount[] = []
  const broken: BrokenAccount[] = []
  while (!from.atEnd()) {
    const tag = from.number(1)
    if (tag === 1) reserves.push(readReserve(from))
    else if (tag === 2) categories.push(readCategory(from))
    else if (tag === 3) accounts.push(readAccount(from))
    else if (tag === 4) broken.push(readBroken(from))
    else if (tag === 5) takeTokens(from)
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if ([...accounts, ...broken].some(({ wallet }) => wallet >= taken)) {
    throw new UpstreamError('Cannot decode the lens: it tells of a wallet beyond its page')
  }
  return { block, taken, markets, reserves, categories, accounts, broken }
}

function readMarket(from: LensCursor): RawMarket {
  const market = { answered: from.number(1) === 1, unit: from.uint(16) }
  const features = from.number(1)
  return {
    ...market,
    features: {
      liquidEModes: (features & 1) !== 0,
      zeroLtvEModes: (features & 2) !== 0,
      isolatedEModes: (features & 4) !== 0,
    },
  }
}

function readReserve(from: LensCursor): RawReserve {
  const reserve = {
    market: from.number(1),
    id: from.number(2),
    asset: from.address(),
    configuration: from.uint(32),
    liquidityRateRay: from.uint(16),
    variableBorrowRateRay: from.uint(16),
    isolationDebt: from.uint(16),
  }
  const priced = from.number(1) === 1
  const price = from.uint(32)
  return { ...reserve, price: priced ? price : undefined, withdrawable: from.uint(16), symbol: from.text() }
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
    isolated: from.number(1) === 1,
    price: from.uint(32),
  }
}

function readAccount(from: LensCursor): RawAccount {
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

function readTokens(from: LensCursor): RawReserveTokens {
  return {
    market: from.number(1),
    id: from.number(2),
    supplyToken: from.address(),
    stableDebtToken: from.address(),
    variableDebtToken: from.address(),
    name: from.text(),
  }
}

function readBroken(from: LensCursor): BrokenAccount {
  const [wallet, market] = [from.number(4), from.number(1)]
  const part = BROKEN_PARTS[from.number(1)]
  if (part === undefined) throw new UpstreamError('Cannot decode the lens: unknown failure')
  return { wallet, market, part }
}
