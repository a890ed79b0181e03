import { type Address, toFunctionSelector } from 'viem'
import { encodeCall } from '../../chain/call/words.ts'
import { explainBy, type HoldingExit } from '../exit.ts'
import type { HeldPair } from './read/read.ts'

const TRANSFER = toFunctionSelector('transfer(address,uint256)')
const BURN = toFunctionSelector('burn(address)')

const explain = explainBy({ 'UniswapV2: TRANSFER_FAILED': 'token_refuses' })

/** Where liquidity in a pair is, as rows show it. */
export function toPlace({ pair }: Pick<HeldPair, 'pair'>) {
  return { family: 'uniswap-v2', pair }
}

/** How liquidity is taken out: it is sent to the pair, which then burns what it has of itself. */
export function exitPair(held: HeldPair, wallet: Address): HoldingExit {
  const { pair, liquidity, token0, token1 } = held
  const suspects = [token0, token1].filter(({ price }) => price === undefined).map(({ address }) => address)
  return {
    position: toPlace(held),
    steps: [
      {
        kind: 'liquidity',
        tokens: [token0.address, token1.address],
        isFree: true,
        calls: [
          { to: pair, data: encodeCall(TRANSFER, pair, liquidity) },
          { to: pair, data: encodeCall(BURN, wallet) },
        ],
        suspects,
      },
    ],
    parties: [pair],
    suspects,
    explain,
  }
}
