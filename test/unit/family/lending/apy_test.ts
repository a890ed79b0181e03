import { expect, test } from 'bun:test'
import { toJsonSchema } from '@valibot/to-json-schema'
import * as aave from '../../../../src/family/aave_v3/present/schema.ts'
import * as kamino from '../../../../src/family/kamino/present/list.ts'
import { yieldOutput as kaminoYield } from '../../../../src/family/kamino/present/obligation.ts'
import { listOutput as morphoList } from '../../../../src/family/morpho_blue/present/schema.ts'
import { yieldOutput as morphoYield } from '../../../../src/family/morpho_blue/present/yield.ts'

const OUTPUTS = {
  'the list of Aave': aave.listOutput,
  'the batch of Aave': aave.batchOutput,
  'the list of Kamino': kamino.listOutput,
  'the batch of Kamino': kamino.batchOutput,
  'a yield of Kamino': kaminoYield,
  'the list of Morpho Blue': morphoList,
  'a yield of Morpho Blue': morphoYield,
}

/** Lists the APYs below a schema, each with its whole text. */
function listApys(schema: unknown): [name: string, text: string][] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([name, value]): [string, string][] =>
    /apy$/i.test(name) ? [[name, JSON.stringify(value)]] : listApys(value),
  )
}

test.each(Object.entries(OUTPUTS))('each APY of %s says that it is interest alone', (_, output) => {
  const apys = listApys(toJsonSchema(output, { errorMode: 'ignore' }))
  expect(apys.length).toBeGreaterThan(0)
  expect(apys.filter(([, text]) => !/interest alone/i.test(text))).toEqual([])
})
