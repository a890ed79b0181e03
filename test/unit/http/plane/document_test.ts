import { expect, test } from 'bun:test'
import * as v from 'valibot'
import { planeDocument } from '../../../../src/http/plane/document.ts'
import type { FreeRoute } from '../../../../src/http/route/route.ts'

test('changes of a plane take an Idempotency-Key and describe its refusals, reads do not', () => {
  const route = (method: FreeRoute['method']): FreeRoute => ({
    method,
    path: '/admin/v1/things',
    summary: 'Things.',
    input: v.object({}),
    output: v.object({ data: v.null() }),
    accept: async () => async () => ({ data: null }),
  })
  const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const
  const text = planeDocument({ title: '', description: '', routes: methods.map(route), cookie: 'c', takesToken: true })
  const { paths, components } = JSON.parse(text)
  for (const method of methods) {
    const { parameters, responses } = paths['/admin/v1/things'][method.toLowerCase()]
    const names = parameters.map(({ name }: { name: string }) => name)
    const isChange = method !== 'GET'
    expect([method, names.includes('Idempotency-Key'), '409' in responses, '422' in responses]).toEqual([
      ...[method, isChange, isChange, isChange],
    ])
  }
  expect(components.responses.Error409.description).toContain('carried out')
})
