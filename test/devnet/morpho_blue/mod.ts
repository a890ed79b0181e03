import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import { ownCreationCode, packageCreationCode } from '../artifacts.ts'
import { setFeedCall } from '../contracts.ts'
import { type Placement, placeContractsAt } from '../place.ts'
import type { Rpc } from '../rpc.ts'
import type { Send, Transaction } from '../transaction.ts'
import { type Action, ADAPTIVE_CURVE, CALLS, MORPHO, type MorphoMarket } from './calls.ts'
import { type MorphoContract, morphoContracts } from './compile.ts'
import { type MorphoRandom, type RandomOptions, startRandom } from './random.ts'
import {
  type AccruedByContract,
  canLiquidate,
  readAccrued,
  readStored,
  type StoredByContract,
  staticRepayAll,
  staticWithdrawAll,
} from './reads.ts'
import { buildMorphoScenario, type MorphoScenario } from './scenario.ts'
import { type OracleBehavior, setOracleCall, warp } from './tools.ts'

/** Morpho by real transactions, and the contract's own answers to compare ours with. */
export interface MorphoDevnet extends MorphoScenario {
  readonly address: Address
  readonly adaptiveCurve: Address
  /** The real oracle of Aave, with the prices of `AAVE_PRICES`. */
  readonly aaveOracle: Address
  supply(action: Action): Promise<void>
  withdraw(action: Action): Promise<void>
  borrow(action: Action): Promise<void>
  repay(action: Action): Promise<void>
  supplyCollateral(action: Action): Promise<void>
  withdrawCollateral(action: Action): Promise<void>
  accrue(market: MorphoMarket): Promise<void>
  /** Mines a block so many seconds after the last one. */
  warp(seconds: number): Promise<void>
  /** Sets the oracle of a market, if that is one of ours. */
  setOracle(market: MorphoMarket, state: { readonly price: bigint; readonly mood?: OracleBehavior }): Promise<void>
  /** Rates per second, 18 decimals. */
  setLinearIrm(state: { readonly base: bigint; readonly slope: bigint; readonly silent?: boolean }): Promise<void>
  /** Price of a token of `AAVE_PRICES` for Aave's oracle. */
  setAavePrice(token: AavePriced, price: bigint): Promise<void>
  /** From now on Aave's oracle asks `feed` about a token, through an adapter that caps it at 1.04 dollars. */
  capAaveSource(token: AavePriced, feed: Address): Promise<void>
  /** Wallets and markets of their own, to act on at random; the same seed tries the same actions. */
  startRandom(options: RandomOptions): Promise<MorphoRandom>
  /** `accrueInterest`, `market` and `position` in one call. */
  readAccrued(market: MorphoMarket, wallet: Address): Promise<AccruedByContract>
  readStored(market: MorphoMarket, wallet: Address): Promise<StoredByContract>
  /** What repaying all of a wallet's debt would take, simulated; 0 without debt. */
  staticRepayAll(market: MorphoMarket, wallet: Address): Promise<bigint>
  /** What withdrawing all that a wallet supplied would pay, simulated; undefined if the market cannot pay it out. */
  staticWithdrawAll(market: MorphoMarket, wallet: Address): Promise<bigint | undefined>
  /** Whether the contract allows liquidating the wallet. */
  canLiquidate(market: MorphoMarket, wallet: Address): Promise<boolean>
}

/** Prices of Aave's oracle when Morpho is placed, 8 decimals; tokens that are not here have no source there. */
export const AAVE_PRICES = { usdc: 101_000_000n, dai: 99_000_000n } as const
export type AavePriced = keyof typeof AAVE_PRICES

/** As Aave caps its stablecoins, 8 decimals. */
const PRICE_CAP = 104_000_000n
const AAVE_ORACLE = toWalletAddress('aave oracle')
const LINEAR_ABI = parseAbi(['function set(uint256 base, uint256 slope, bool silent)'])

/** Puts Morpho and its surroundings on the devnet, and makes its wallets. */
export async function buildMorpho(context: { readonly rpc: Rpc; readonly send: Send }): Promise<MorphoDevnet> {
  const { rpc, send } = context
  const codes = await morphoContracts()
  await placeMorpho(context, codes)
  const builder = { rpc, send, codes }
  const scenario = await buildMorphoScenario(builder)
  const sendOne = async (transaction: Transaction): Promise<void> => {
    await send([transaction])
  }
  return {
    ...scenario,
    address: MORPHO,
    adaptiveCurve: ADAPTIVE_CURVE,
    aaveOracle: AAVE_ORACLE,
    supply: (action) => sendOne(CALLS.supply(action)),
    withdraw: (action) => sendOne(CALLS.withdraw(action)),
    borrow: (action) => sendOne(CALLS.borrow(action)),
    repay: (action) => sendOne(CALLS.repay(action)),
    supplyCollateral: (action) => sendOne(CALLS.supplyCollateral(action)),
    withdrawCollateral: (action) => sendOne(CALLS.withdrawCollateral(action)),
    accrue: (market) => sendOne(CALLS.accrue(market)),
    warp: (seconds) => warp(rpc, seconds),
    setOracle: (market, state) => sendOne(setOracleCall(market, state)),
    setLinearIrm: ({ base, slope, silent = false }) => {
      const data = encodeFunctionData({ abi: LINEAR_ABI, functionName: 'set', args: [base, slope, silent] })
      return sendOne({ from: BANK, to: scenario.linearIrm, data })
    },
    setAavePrice: (token, price) => sendOne(setFeedCall(aaveSource(token), { answer: price })),
    capAaveSource: (token, feed) => {
      const args = encodeAbiParameters([{ type: 'address' }, { type: 'int256' }], [feed, PRICE_CAP])
      const creationCode = ownCreationCode('CapAdapter', args)
      return placeContractsAt(context, { placements: [{ address: aaveSource(token), creationCode }], owner: BANK })
    },
    startRandom: (options) => startRandom(builder, { ...options, scenario }),
    readAccrued: (market, wallet) => readAccrued(rpc, { market, wallet }),
    readStored: (market, wallet) => readStored(rpc, { market, wallet }),
    staticRepayAll: (market, wallet) => staticRepayAll(rpc, { market, wallet }),
    staticWithdrawAll: (market, wallet) => staticWithdrawAll(rpc, { market, wallet }),
    canLiquidate: (market, wallet) => canLiquidate(rpc, { market, wallet }),
  }
}

async function placeMorpho(
  context: { readonly rpc: Rpc; readonly send: Send },
  codes: Readonly<Record<MorphoContract, Hex>>,
): Promise<void> {
  const encodeAddress = (value: Address) => encodeAbiParameters([{ type: 'address' }], [value]).slice(2)
  const priced = Object.entries(AAVE_PRICES) as [AavePriced, bigint][]
  const placements: Placement[] = [
    { address: MORPHO, creationCode: `${codes.Morpho}${encodeAddress(BANK)}` },
    { address: ADAPTIVE_CURVE, creationCode: `${codes.AdaptiveCurve}${encodeAddress(MORPHO)}` },
    ...priced.map(([token, price]) => ({
      address: aaveSource(token),
      creationCode: ownCreationCode(
        'Feed',
        encodeAbiParameters(
          [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }],
          [8, `Aave's source of ${token}`, price],
        ),
      ),
    })),
    {
      address: AAVE_ORACLE,
      creationCode: await packageCreationCode('@aave/core-v3/artifacts/contracts/misc/AaveOracle.sol/AaveOracle.json', {
        args: encodeAbiParameters(
          ['address', 'address[]', 'address[]', 'address', 'address', 'uint256'].map((type) => ({ type })),
          [
            toWalletAddress('aave addresses provider'),
            priced.map(([token]) => TOKENS[token].address),
            priced.map(([token]) => aaveSource(token)),
            ...[zeroAddress, zeroAddress, 10n ** 8n],
          ],
        ),
      }),
    },
  ]
  await placeContractsAt(context, { placements, owner: BANK })
}

function aaveSource(token: AavePriced): Address {
  return toWalletAddress(`aave source ${token}`)
}
