import { type LensReading, type LensWay, readByLens } from '../../chain/call/lens.ts'
import { SilentError } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HoldingsReader } from '../holding.ts'
import { holdingsOf, ownTokensOf } from './present/holdings.ts'
import { decodeNamed, encodeNamed } from './read/abi.ts'
import { LENS_RUNTIME } from './read/lens_artifact.ts'
import { checkMarkets, type LendingReader, providerOf } from './read/read.ts'

/** Reads all that a wallet supplies and owes as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly reader: Pick<LendingReader, 'places' | 'past'>
  readonly clock: Clock
  readonly ways?: readonly LensWay[]
}): HoldingsReader {
  const { reader, clock, ways } = options
  return {
    chainIds: new Set(reader.places.keys()),
    async open(wallet, { client, block }, signal) {
      const known = reader.places.get(client.chain.id)
      if (known === undefined) return undefined
      const deployments = await reader.past.standing({ ...known, ...(block && { block }) }, signal)
      if (deployments.length === 0) return undefined
      const data = encodeNamed(deployments.map(providerOf), wallet)
      return async ({ endpoint, block: at }, within) => {
        const reading: LensReading<ReturnType<typeof decodeNamed>> = {
          topic: 'aave_v3',
          runtime: LENS_RUNTIME,
          chainId: client.chain.id,
          at,
          ways,
          clock,
          async read({ call, observeBlock }) {
            const read = decodeNamed(await call({ data, block: at ?? 'latest', isLight: true }))
            observeBlock(read.block)
            return read
          },
        }
        const read = await readByLens(endpoint, reading, within)
        checkMarkets(read, { deployments })
        const [broken] = read.broken
        if (broken !== undefined) {
          const market = deployments[broken.market]?.market
          throw new SilentError(`market "${market}" does not tell the wallet's ${broken.part}`)
        }
        return {
          block: read.block,
          rows: holdingsOf(read, deployments),
          positions: read.accounts.length,
          ownTokens: ownTokensOf(read),
          notRead: [],
        }
      }
    },
  }
}
