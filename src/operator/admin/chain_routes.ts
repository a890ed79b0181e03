import * as v from 'valibot'
import { one } from '../../http/request/schema.ts'
import { type FreeRoute, route } from '../../http/route/route.ts'
import { whole } from '../../lib/text/schema.ts'
import { ADMIN_PREFIX } from '../access.ts'

const chainSchema = v.strictObject({
  chain_id: whole,
  name: v.string(),
  // True if an endpoint answers from a recent block, or did so lately.
  ready: v.boolean(),
  // In the order of the configuration: an address may hold a secret.
  endpoints: v.array(
    v.strictObject({
      state: v.pipe(
        v.picklist(['ready', 'doubtful', 'open', 'removed']),
        v.description('doubtful failed lately, open failed repeatedly, removed serves another chain'),
      ),
      latency_ms: v.nullable(whole),
      busy_ms: v.pipe(whole, v.description('Until its own rate limit allows the next request')),
    }),
  ),
})

/** A chain and its endpoints, as this process sees them. */
export type ChainReport = v.InferOutput<typeof chainSchema>

/** How chains and their endpoints do. */
export function chainRoute(readChains: () => Promise<readonly ChainReport[]>): FreeRoute {
  return route({
    method: 'GET',
    path: `${ADMIN_PREFIX}/chains`,
    summary: 'Chains and how their endpoints do, as this process sees them.',
    input: v.object({}),
    output: one(v.array(chainSchema)),
    async act() {
      return { data: await readChains() }
    },
  })
}
