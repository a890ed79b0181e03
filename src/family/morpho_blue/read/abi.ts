import { type Address, type Hex, toFunctionSelector } from 'viem'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import { ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../../finance/price/price_sources.ts'
import { readToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { AccruedByContract, MarketState, RawEntry, RawMarket, RawRead, StoredPosition } from '../math/state.ts'

const READ = toFunctionSelector(`read(address morpho, address wallet, bytes32[] ids, ${PRICE_SOURCES_ARGUMENT})`)
/** Records of the lens, by their first byte. */
const RECORD = { noMarket: 0, market: 1, noPosition: 2, failed: 3 } as const

/** Query for a wallet's positions in markets; ids in lower case. */
export interface MarketsQuery {
  readonly morpho: Address
  readonly wallet: Address
  readonly marketIds: readonly Hex[]
}

/** Call data of the lens. */
export function encodeRead({ morpho, wallet, marketIds }: MarketsQuery, sources: PriceSources): Hex {
  return encodeCall(READ, morpho, wallet, encodeArray(marketIds), encodePriceSources(sources))
}

/**
 * Decodes the lens' answer; the head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout, and
 * `ContractUnresponsiveError` if Morpho is not at its address, also if no market was requested: without its contract,
 * "no market" is no finding.
 */
export function decodeLens(answer: Hex): RawRead {
  const { from, block, taken } = decodeLensPage(answer)
  const feeRecipient = readOptional(from, () => from.address())
  if (feeRecipient === undefined) throw morphoUnresponsiveError()
  const entries: RawEntry[] = []
  while (!from.isAtEnd()) entries.push(readEntry(from))
  if (entries.length !== taken) throw new UpstreamError('Cannot decode the lens: markets are missing')
  return { block, feeRecipient, taken, entries }
}

function readEntry(from: LensCursor): RawEntry {
  const record = from.number(1)
  if (record === RECORD.noMarket) return 'no_market'
  if (record === RECORD.noPosition) return 'no_position'
  if (record === RECORD.failed) throw morphoUnresponsiveError()
  if (record !== RECORD.market) throw new UpstreamError(`Cannot decode the lens: unknown record ${record}`)
  return readMarket(from)
}

function readMarket(from: LensCursor): RawMarket {
  const [oracle, irm, lltv] = [from.address(), from.address(), from.uint(32)]
  const stored = readBooks(from)
  const averageRateWad = readOptionalUint(from)
  const accrued = from.number(1) === 1 ? readAccrued(from) : undefined
  const oraclePrice = readOptionalUint(from)
  const [loan, collateralToken] = [readToken(from), readToken(from)]
  return {
    params: { loanToken: loan.address, collateralToken: collateralToken.address, oracle, irm, lltv },
    ...stored,
    averageRateWad,
    accrued,
    oraclePrice,
    loan,
    collateralToken,
    loanUsd: readUsdAnswers(from),
    collateralUsd: readUsdAnswers(from),
  }
}

function readAccrued(from: LensCursor): AccruedByContract {
  return { ...readBooks(from), endRateWad: readOptionalUint(from) }
}

function readBooks(from: LensCursor): { readonly market: MarketState; readonly position: StoredPosition } {
  return {
    market: {
      totalSupplyAssets: from.uint(16),
      totalSupplyShares: from.uint(16),
      totalBorrowAssets: from.uint(16),
      totalBorrowShares: from.uint(16),
      lastUpdateSec: from.uint(16),
      feeWad: from.uint(16),
    },
    position: { supplyShares: from.uint(32), borrowShares: from.uint(16), collateral: from.uint(16) },
  }
}

function readOptionalUint(from: LensCursor): bigint | undefined {
  return readOptional(from, () => from.uint(32))
}

/** The error if the contract at a deployment's address does not answer like Morpho. */
function morphoUnresponsiveError(): ContractUnresponsiveError {
  return new ContractUnresponsiveError('its Morpho contract does not answer')
}
