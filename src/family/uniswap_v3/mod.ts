import type { Family, FamilyServices } from '../family.ts'
import type { UniswapV3Deployment } from './deployments.ts'
import { createPositionReader } from './read.ts'
import { createRoutes } from './routes.ts'

/** Positions of Uniswap V3 and of exchanges built alike. */
export function createUniswapV3(
  services: FamilyServices & { readonly deployments: ReadonlyMap<number, readonly UniswapV3Deployment[]> },
): Family {
  const { clients, deployments, clock } = services
  const reader = createPositionReader({ clients, deployments, clock })
  return { name: 'uniswap-v3', routes: createRoutes(reader, clients.keys()) }
}
