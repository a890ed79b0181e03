import { memoize } from '../../lib/memoize.ts'

interface SchemaWithFields {
  readonly type: string
  readonly entries?: Readonly<Record<string, FieldSchema>>
}

interface FieldSchema {
  readonly type: string
  readonly wrapped?: { readonly type: string; readonly pipe?: readonly Step[] }
}

interface Step {
  readonly metadata?: { readonly lengthMax?: number }
}

/** Names of an object schema's fields: those that it takes, and those that it has only to say why it refuses them. */
export const getFieldNames = memoize(({ entries = {} }: SchemaWithFields) => {
  const refused = (name: string) => isRefusedField(entries[name])
  const names = Object.keys(entries)
  return { taken: names.filter((name) => !refused(name)), refused: names.filter(refused) }
})

/** True for a field that is made by `refused` of `input.ts`: nobody may send it. */
export function isRefusedField(entry: FieldSchema | undefined): boolean {
  return entry?.wrapped?.type === 'never'
}

/** The longest text of an optional field that is a list of values, as `v.metadata({ lengthMax })` says; else undefined. */
export function getMaxLength({ entries = {} }: SchemaWithFields, name: string): number | undefined {
  const steps = entries[name]?.wrapped?.pipe ?? []
  return steps.find(({ metadata }) => metadata?.lengthMax !== undefined)?.metadata?.lengthMax
}
