import * as v from 'valibot'
import { type Address, checksumAddress, toFunctionSelector, zeroAddress } from 'viem'
import { encodeCall, toChecksumAddress } from '../../chain/call/words.ts'
import { evmAddress } from '../../finance/figure.ts'
import { withWords } from '../../lib/text/text_format.ts'
import type { EnumerableExchange } from '../liquidity/enumerable/exchange.ts'
import { createEnumerableProtocol } from '../liquidity/enumerable/mod.ts'
import { integerText, unsignedText } from '../liquidity/schema.ts'
import { GAUGE_LOG } from './event.ts'
import { computeReward, nameRewardWords } from './math.ts'
import { LENS_RUNTIME } from './read/lens_artifact.ts'

/** Of a gauge: it pays the reward and sends the position back. */
const WITHDRAW = toFunctionSelector('withdraw(uint256)')

/** Slipstream of Aerodrome and Velodrome: Uniswap V3 with tick spacings in place of fees, and gauges that pay. */
export const EXCHANGE: EnumerableExchange = {
  name: 'slipstream',
  words: {
    exchange: 'Slipstream',
    operation: 'slipstream',
    title: 'Slipstream of Aerodrome and Velodrome',
    noun: 'Slipstream position',
    listNote: 'Includes positions that are staked in gauges.',
    describeMissing: (tokenId) => `Position ${tokenId} does not exist on the queried position managers`,
  },
  hasCustodians: true,
  locateCustodian: (registry, words) => ({ ...registry, address: toGauge(words) }),
  custodianGetter: toFunctionSelector('gauge()'),
  isOwnerKnown: ({ owner, custodian, rewards = [] }) =>
    owner !== zeroAddress ||
    custodian === undefined ||
    rewards.every(({ words }) => nameRewardWords(words).since === 0n),
  exitCustody: ({ tokenId, custodian, deployment, rewards = [] }) => ({
    to: deployment.manager,
    steps: [
      {
        kind: 'liquidity',
        parts: ['rewards'],
        tokens: rewards.map(({ token }) => token.address),
        calls: [{ to: custodian.address, data: encodeCall(WITHDRAW, tokenId) }],
      },
    ],
  }),
  computeReward,
  custodyLog: GAUGE_LOG,
  lens: { topic: 'slipstream', runtime: LENS_RUNTIME },
  streamName: 'slipstream_flow',
  poolKey: {
    getter: toFunctionSelector('tickSpacing()'),
    getPool: toFunctionSelector('getPool(address,address,int24)'),
    max: 2n ** 23n - 1n,
  },
}

/** Words of a pool, in the order of `lens.sol`: fee in force, the part that liquidity gives up that is not staked, gauge. */
function toGauge([, , gauge = 0n]: readonly bigint[]): Address {
  return toChecksumAddress(gauge.toString(16).padStart(40, '0'))
}

/** Pips in words; null where the pool does not tell. */
function formatPips(pips = -1n): string | null {
  return pips >= 0n && pips <= 1_000_000n ? pips.toString() : null
}

/** The protocol, with the fields of its pools. */
export const PROTOCOL = createEnumerableProtocol(EXCHANGE, {
  entries: {
    id: withWords('Its contract', evmAddress),
    tick: withWords('Current tick', integerText),
    tickSpacing: withWords('Ticks between two that a range may end at; it names the pool', unsignedText),
    feeTier: v.pipe(
      v.nullable(unsignedText),
      v.description('The fee in force at the block, hundredths of a basis point; null if the pool does not tell'),
    ),
    isDynamicFee: withWords('The fee may change with every swap', v.literal(true)),
    unstakedFee: v.pipe(
      v.nullable(unsignedText),
      v.description('The part of the fee that unstaked liquidity gives up, millionths; its fees are less that already'),
    ),
  },
  present: ({ address, tick, fee: tickSpacing, words: [fee, unstakedFee] = [] }) => ({
    id: checksumAddress(address),
    tick: tick.toString(),
    tickSpacing: tickSpacing.toString(),
    feeTier: formatPips(fee),
    isDynamicFee: true,
    unstakedFee: formatPips(unstakedFee),
  }),
})
