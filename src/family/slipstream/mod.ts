import * as v from 'valibot'
import { isJsonObject } from '../../lib/text/json.ts'
import { address, defineFamily, type FamilySetup, findDuplicates, startBlock } from '../contract.ts'
import { watchExchange } from '../liquidity/enumerable/watch/mod.ts'
import { serveProtocol } from '../liquidity/mod.ts'
import { EXCHANGE, PROTOCOL } from './protocol.ts'
import { SLIPSTREAM_MANAGERS, type SlipstreamManager, toDeployments } from './table.ts'

const watch = watchExchange(EXCHANGE, PROTOCOL)

/**
 * Positions of Slipstream, staked or not. The generation of a gauge is told by which of its getters answer. A manager
 * configured twice would be charged twice.
 */
export const SLIPSTREAM = defineFamily({
  name: 'slipstream',
  aliases: ['amm_c'],
  network: 'evm',
  entries: {
    slipstream: v.optional(
      v.array(
        v.strictObject({
          manager: address,
          factory: address,
          voter: v.optional(address),
          startBlock,
          code: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9_]{1,64}$/)), 'slipstream'),
        }),
      ),
    ),
  },
  builtIn: SLIPSTREAM_MANAGERS,
  getSetting: ({ slipstream }): readonly SlipstreamManager[] | undefined => slipstream,
  listKeys: { slipstream: 'manager' },
  adoptRows,
  listContracts: (managers) => [
    ...managers.map(({ manager, code }) => ({ address: manager, name: `${code}'s manager ${manager}` })),
    ...[...new Set(managers.flatMap(({ voter }) => voter ?? []))].map((voter) => ({
      address: voter,
      name: `gauges of voter ${voter}`,
    })),
  ],
  findMistakes: (managers, chainId) =>
    findDuplicates(managers.map(({ manager }) => manager)).map(
      (manager) => `manager ${manager} of chain ${chainId} is described twice`,
    ),
  watch: ({ settings, ...setup }: FamilySetup<readonly SlipstreamManager[]>) =>
    watch({ ...setup, settings: new Map([...settings].map(([id, managers]) => [id, toDeployments(managers)])) }),
  ...serveProtocol(PROTOCOL, toDeployments),
})

type Lists = Readonly<Record<string, unknown>>

/**
 * Moves rows of `uniswapV3` whose `kind` is `slipstream`, there and under `add`, to `slipstream`: a `CHAINS_FILE` may
 * describe them among Uniswap V3's forks.
 */
function adoptRows(row: Lists): Lists {
  const { add } = row
  return moveRows(isJsonObject(add) ? { ...row, add: moveRows(add) } : row)
}

function moveRows(lists: Lists): Lists {
  const { uniswapV3, slipstream = [], ...others } = lists
  if (!Array.isArray(uniswapV3) || !Array.isArray(slipstream)) return lists
  const own = uniswapV3.filter(isOwn)
  if (own.length === 0) return lists
  const rest = uniswapV3.filter((each) => !isOwn(each))
  return {
    ...others,
    // Without rows of its own too: no list would stand for the built-in one.
    uniswapV3: rest,
    slipstream: [...slipstream, ...own.map(toManagerRow)],
  }
}

function isOwn(row: unknown): row is Lists {
  return isJsonObject(row) && row['kind'] === 'slipstream'
}

/** Names the voter of the gauges; the schema refuses all other custodians. */
function toManagerRow({ kind: _, custodians, ...row }: Lists): Lists {
  if (custodians === undefined) return row
  const [gauges, ...more] = Array.isArray(custodians) ? custodians : []
  const isGauges =
    more.length === 0 && isJsonObject(gauges) && gauges['kind'] === 'gauges' && Object.keys(gauges).length === 2
  return isGauges ? { ...row, voter: gauges['voter'] } : { ...row, custodians }
}
