import type { SolanaClient } from '../chain/solana.ts'
import type { AaveV3Deployment } from './aave_v3/deployments.ts'
import { createAaveV3 } from './aave_v3/mod.ts'
import type { Family, FamilyServices } from './family.ts'
import { createKamino } from './kamino/mod.ts'
import type { KaminoProgram } from './kamino/program.ts'
import type { MorphoBlueDeployment } from './morpho_blue/deployments.ts'
import { createMorphoBlue } from './morpho_blue/mod.ts'
import type { UniswapV3Deployment } from './uniswap_v3/deployments.ts'
import { createUniswapV3 } from './uniswap_v3/mod.ts'

/** What the families need, and each one's addresses by chain id. */
export interface FamiliesOptions extends FamilyServices {
  readonly uniswapV3: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly aaveV3: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly morphoBlue: ReadonlyMap<number, MorphoBlueDeployment>
  readonly kamino: { readonly solana: SolanaClient | undefined; readonly program: KaminoProgram }
}

/** All protocols that are served: one line each. */
export function createFamilies(options: FamiliesOptions): readonly Family[] {
  const { uniswapV3, aaveV3, morphoBlue, kamino, ...services } = options
  return [
    createUniswapV3({ ...services, deployments: uniswapV3 }),
    createAaveV3({ ...services, deployments: aaveV3 }),
    createMorphoBlue({ ...services, deployments: morphoBlue }),
    createKamino({ ...kamino, log: services.log }),
  ]
}
