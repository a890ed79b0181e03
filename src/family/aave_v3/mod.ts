import type { Family, FamilyServices } from '../family.ts'
import type { AaveV3Deployment } from './deployments.ts'
import { createLendingReader } from './read.ts'
import { createRoutes } from './routes.ts'

/** Lending positions in the markets of Aave V3 and of forks that kept its contracts. */
export function createAaveV3(
  services: FamilyServices & { readonly deployments: ReadonlyMap<number, readonly AaveV3Deployment[]> },
): Family {
  const { clients, deployments, clock } = services
  const reader = createLendingReader({ clients, deployments, clock })
  return { name: 'aave-v3', routes: createRoutes(reader, clients.keys()) }
}
