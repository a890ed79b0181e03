import { checksumAddress, toFunctionSelector } from 'viem'
import { evmAddress } from '../../finance/figure.ts'
import { withWords } from '../../lib/text/text_format.ts'
import type { EnumerableExchange } from '../liquidity/enumerable/exchange.ts'
import { createEnumerableProtocol } from '../liquidity/enumerable/mod.ts'
import { integerText, unsignedText } from '../liquidity/schema.ts'
import { MASTER_CHEF_LOG } from './event.ts'
import { exitMasterChef } from './exit.ts'
import { computeMasterChefReward } from './math.ts'
import { LENS_RUNTIME } from './read/lens_artifact.ts'

/** Uniswap V3 and its forks, whose pools are named by their fee. */
export const EXCHANGE: EnumerableExchange = {
  name: 'uniswap-v3',
  words: {
    exchange: 'Uniswap V3',
    operation: 'uniswap',
    title: 'Uniswap V3 and its forks',
    noun: 'liquidity position',
    describeMissing: (tokenId) => `Position ${tokenId} does not exist on the queried position managers`,
  },
  hasCustodians: true,
  computeReward: computeMasterChefReward,
  custodyLog: MASTER_CHEF_LOG,
  exitCustody: exitMasterChef,
  lens: { topic: 'uniswap_v3', runtime: LENS_RUNTIME },
  streamName: 'uniswap_v3_flow',
  poolKey: {
    getter: toFunctionSelector('fee()'),
    getPool: toFunctionSelector('getPool(address,address,uint24)'),
    max: 2n ** 24n - 1n,
  },
}

/** The protocol, with the fields of its pools. */
export const PROTOCOL = createEnumerableProtocol(EXCHANGE, {
  entries: {
    id: withWords('Its contract', evmAddress),
    tick: withWords('Current tick', integerText),
    feeTier: withWords('Hundredths of a bip: 3000 is 0.3 %', unsignedText),
  },
  present: ({ address, tick, fee }) => ({
    id: checksumAddress(address),
    tick: tick.toString(),
    feeTier: fee.toString(),
  }),
})
