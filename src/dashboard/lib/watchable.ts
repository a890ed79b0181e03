/** What triggers can watch of a family, as the document of the service says. */
export interface Watchable {
  /** Fields that name a position. */
  readonly subject: readonly string[]
  /** Figures that are compared with a level. */
  readonly figures: readonly string[]
  /** What is true or false. */
  readonly states: readonly string[]
}

export interface TriggerOperation {
  readonly 'x-charge'?: { readonly credits: number }
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: { readonly properties?: { readonly family?: { readonly enum?: readonly string[] } } }
      }
    }
  }
}

interface Schema {
  readonly enum?: readonly string[]
  readonly const?: string
  readonly properties?: Readonly<Record<string, unknown>>
}

export interface TriggerDocument {
  readonly paths?: Readonly<Record<string, { readonly post?: TriggerOperation }>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

/** Lists what triggers can watch by family: the document names the schemas of `uniswap-v4` `UniswapV4Subject` and so on. */
export function listWatchable({ paths = {}, components: { schemas = {} } = {} }: TriggerDocument) {
  const body = paths['/v1/triggers']?.post?.requestBody?.content['application/json'].schema
  const families = body?.properties?.family?.enum ?? []
  return new Map(
    families.map((family): [string, Watchable] => {
      const find = (kind: string) => schemas[`${toSchemaName(family)}${kind}`]
      const list = (schema: Schema | undefined) => schema?.enum ?? (schema?.const === undefined ? [] : [schema.const])
      const subject = Object.keys(find('Subject')?.properties ?? {})
      return [family, { subject, figures: list(find('Figure')), states: list(find('State')) }]
    }),
  )
}

function toSchemaName(family: string) {
  return family
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
