import type { Family, FamilyServices } from '../family.ts'
import type { MorphoBlueDeployment } from './deployments.ts'
import { createPositionReader } from './read.ts'
import { createRoutes } from './routes.ts'

/** Morpho Blue: yield of a wallet in one of its isolated markets. */
export function createMorphoBlue(
  services: FamilyServices & { readonly deployments: ReadonlyMap<number, MorphoBlueDeployment> },
): Family {
  const { clients, deployments, clock } = services
  return { name: 'morpho-blue', routes: createRoutes(createPositionReader({ clients, deployments, clock })) }
}
