import { expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { RowExit, UnitExit } from '../../../../src/portfolio/exit/attribute.ts'
import { abandon, findAbandonment } from '../../../../src/portfolio/exit/settle.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import type { HeldAsset } from '../../../../src/portfolio/sum/row.ts'
import { asset, dollars } from '../sum/assets.ts'

const position = { family: 'made-up', id: '7' }

/** Rows of one account, in dollars. */
function account(amounts: readonly (readonly [symbol: string, kind: HeldAsset['kind'], amount: bigint])[]) {
  const assets = amounts.map(([symbol, kind, amount], index) => {
    const address: Address = `0x${String(index).repeat(40)}`
    return asset({ kind, amount, token: { address, symbol, name: symbol, decimals: 0 }, price: dollars(1n), position })
  })
  return classifyAssets(assets, { includeUnlisted: false })
}

const PAUSED = { reason: 'paused', detail: 'Its market is paused or inactive' } as const

test('each row of an account that is left behind has a reason that is true of it', () => {
  const rows = account([
    ['OWED', 'borrowed', 6n],
    ['STUCK', 'supplied', 10n],
    ['FREE', 'supplied', 5n],
  ])
  const settle = (...lines: readonly RowExit[]) => {
    const repaid: readonly RowExit[] = [{ arrived: 6n }, { arrived: 0n, blockage: PAUSED }, { arrived: 5n }]
    const exit = { position, steps: [], explain: () => undefined }
    const unit: UnitExit = {
      exit,
      rows,
      lines: repaid,
      outside: [{ token: '0x', amount: 6n, from: undefined }],
      steps: [],
    }
    const abandonment = findAbandonment(unit)
    if (abandonment === undefined) throw new Error('The account is not left behind')
    expect(abandonment.isInsolvent).toBeFalse()
    return abandon(abandonment, { ...unit, lines })
  }
  const detail = 'The account is left behind: not all of its STUCK arrives, and repaying takes more than the rest'
  const held = { reason: 'unsupported', detail } as const
  const owed = { reason: 'unsupported', detail: 'What the account owes holds it' } as const
  const nothing = { arrived: 0n, blockage: owed }
  expect(settle(nothing, { arrived: 0n, blockage: PAUSED }, { arrived: 1n, blockage: owed })).toMatchObject({
    lines: [
      { arrived: 0n, blockage: held },
      { arrived: 0n, blockage: PAUSED },
      { arrived: 1n, blockage: held },
    ],
    outside: [],
  })
  expect(settle(nothing, { arrived: 2n, blockage: owed }, { arrived: 5n }).lines).toEqual([
    { arrived: 0n, blockage: held },
    { arrived: 2n, blockage: PAUSED },
    { arrived: 5n },
  ])
})
