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

/** Returns the names of an object schema's fields: accepted ones, and those declared only to refuse with a reason. */
export const getFieldNames = memoize(({ entries = {} }: SchemaWithFields) => {
  const isRefused = (name: string) => isRefusedField(entries[name])
  const names = Object.keys(entries)
  return { accepted: names.filter((name) => !isRefused(name)), refused: names.filter(isRefused) }
})

/** True for a field that `refusedParameter` of `input.ts` declares: it may not be sent. */
export function isRefusedField(entry: FieldSchema | undefined): boolean {
  return entry?.wrapped?.type === 'never'
}

/** Returns the `lengthMax` metadata of an optional field, which a list of values has; else undefined. */
export function getMaxLength({ entries = {} }: SchemaWithFields, name: string): number | undefined {
  const steps = entries[name]?.wrapped?.pipe ?? []
  return steps.find(({ metadata }) => metadata?.lengthMax !== undefined)?.metadata?.lengthMax
}
