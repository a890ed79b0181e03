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
      head_block: v.pipe(
        v.nullable(whole),
        v.description('Newest block, or slot, that it has shown; null before, or if others contradict it'),
      ),
      head_age_sec: v.nullable(whole),
      lag_blocks: v.pipe(
        v.nullable(whole),
        v.description('Behind the newest that any endpoint of the chain has shown'),
      ),
      behind: v.pipe(v.boolean(), v.description('Others have shown so much later blocks that they are asked first')),
      errors: v.pipe(whole, v.description('Requests that failed since the start, refused ones not among them')),
      state_depth: v.pipe(
        v.nullable(v.union([whole, v.literal('all')])),
        v.description('So many blocks back it keeps state, or some more; null if that is not known'),
      ),
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
