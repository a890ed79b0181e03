import type { Address } from 'viem'

/** One position manager of a Uniswap-V3-style exchange. */
export interface UniswapV3Deployment {
  readonly manager: Address
  readonly factory: Address
  /** First block with events of the manager. */
  readonly startBlock: number
  /** `protocol.code` of its positions. */
  readonly code: string
}

const FACTORY: Address = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
const MANAGER: Address = '0xC36442b4a4522E871399CD717aBDD847Ab11FE88'

/** Uniswap's own position managers by chain id; `startBlock` is the block that created the manager. */
export const UNISWAP_V3_DEPLOYMENTS: ReadonlyMap<number, readonly UniswapV3Deployment[]> = new Map([
  [1, [uniswap(MANAGER, FACTORY, 12_369_651)]],
  [10, [uniswap(MANAGER, FACTORY, 0)]],
  [
    56,
    [uniswap('0x7b8A01B39D58278b5DE7e48c8449c9f4F5170613', '0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7', 26_324_045)],
  ],
  [137, [uniswap(MANAGER, FACTORY, 22_760_586)]],
  [
    8_453,
    [uniswap('0x03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1', '0x33128a8fC17869897dcE68Ed026d694621f6FDfD', 1_371_714)],
  ],
  [42_161, [uniswap(MANAGER, FACTORY, 173)]],
  [
    43_114,
    [uniswap('0x655C406EBFa14EE2006250925e54ec43AD184f8B', '0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD', 27_833_025)],
  ],
])

function uniswap(manager: Address, factory: Address, startBlock: number): UniswapV3Deployment {
  return { manager, factory, startBlock, code: 'uniswap_v3' }
}
