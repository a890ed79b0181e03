import type { ChainClient } from '../chain/client.ts'
import type { Route } from '../http/route.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'

/** What every family is given; a chain's own deployments come with its factory function. */
export interface FamilyServices {
  /** Configured chains by id. */
  readonly clients: ReadonlyMap<number, ChainClient>
  readonly clock: Clock
  readonly log: Log
}

/** A protocol: a folder here and a line in `mod.ts`. */
export interface Family {
  /** Path segment: `uniswap-v3`. */
  readonly name: string
  readonly routes: readonly Route[]
}
