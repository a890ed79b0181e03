import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { HOOK_PERMISSIONS } from '../../../../src/family/uniswap_v4/math/hooks.ts'

interface Pnl {
  lacksHistory(position: { readonly position_state: { readonly pool: object } }): boolean
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/liquidity/pnl.tsx')
const { lacksHistory } = (await import(PATH)) as Pnl

test('a position whose hook may change what is paid offers no history, any other does', () => {
  const ask = (pool: object) => lacksHistory({ position_state: { pool } })
  expect(ask({})).toBe(false)
  expect(ask({ hooks: null })).toBe(false)
  const lacking = HOOK_PERMISSIONS.filter((name) => ask({ hooks: { address: '0x', permissions: [name] } }))
  expect(lacking).toEqual(['afterAddLiquidityReturnsDelta', 'afterRemoveLiquidityReturnsDelta'])
})
