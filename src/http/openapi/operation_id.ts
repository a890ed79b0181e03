import type { JsonSchema } from '../route/json_schema.ts'
import type { Route } from '../route/route.ts'

/** Last word in the names of operations that answer for many wallets. */
const BATCH = 'batch'

/**
 * Names a route's operation from its own name and the kind of its answer: `listAavePositions`, `getUniswapPnl`,
 * `batchAavePositions`. Routes without a name, and those that change data, are named by their method and path.
 */
export function operationId({ operation, method, path, changes }: Route, body: JsonSchema): string {
  if (operation === undefined || changes === true) {
    const words = path.split(/[/:_-]+/).filter((word) => word !== '' && word !== 'v1')
    return camel([method.toLowerCase(), ...words])
  }
  const words = operation.split('_')
  if (words.at(-1) === BATCH) return camel([BATCH, ...words.slice(0, -1), 'positions'])
  const { data } = (body['properties'] ?? {}) as { readonly data?: JsonSchema }
  return camel([data?.['type'] === 'array' ? 'list' : 'get', ...words])
}

function camel([first = '', ...others]: readonly string[]): string {
  return [first, ...others.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('')
}
