import type { JsonSchema } from '../json_schema.ts'

/** The fields of an OpenAPI document that the page reads; all are optional. */
export interface OpenapiDocument {
  readonly info?: { readonly title?: string; readonly version?: string; readonly description?: string }
  readonly servers?: readonly { readonly url: string }[]
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: {
    readonly securitySchemes?: Readonly<Record<string, { readonly description?: string }>>
    readonly headers?: Readonly<Record<string, Described>>
    readonly schemas?: Readonly<Record<string, JsonSchema>>
    readonly responses?: Readonly<Record<string, DescribedAnswer>>
  }
}

/** One method of one path. */
export interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  /** Empty if no key is needed. */
  readonly security?: readonly unknown[]
  /** The price in words. */
  readonly 'x-credits'?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content?: Media }
  readonly responses?: Readonly<Record<string, DescribedAnswer>>
}

/** A parameter in the path or in the query. */
export interface Parameter extends Described {
  readonly name: string
  readonly in: string
  readonly required?: boolean
}

/** An answer, or a reference to a shared one. */
export interface DescribedAnswer {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Media
}

/** Something with a schema and words about it. */
interface Described {
  readonly description?: string
  readonly schema?: JsonSchema
}

/** Schemas by media type. */
type Media = Readonly<Record<string, { readonly schema?: JsonSchema }>>

/** An operation with its address. */
export interface AddressedOperation {
  readonly method: string
  readonly path: string
  /** Id of its section on the page. */
  readonly anchor: string
  readonly operation: Operation
}

/** All operations in the order of the document. */
export function endpointsOf({ paths = {} }: OpenapiDocument): readonly AddressedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      anchor: anchorOf(operation.operationId ?? `${method} ${path}`),
      operation,
    })),
  )
}

/** True if the operation answers without a key. */
export function isKeyless({ operation }: AddressedOperation): boolean {
  return operation.security?.length === 0
}

/** Text as an anchor of the page. */
export function anchorOf(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '-')
}

/** The target of a reference `#/a/b`, or the node itself if it is not a reference. */
export function resolved<Node extends { readonly $ref?: unknown }>(node: Node, document: OpenapiDocument): Node {
  if (typeof node.$ref !== 'string') return node
  let target: unknown = document
  for (const key of node.$ref.split('/').slice(1)) target = (target as Record<string, unknown> | undefined)?.[key]
  return (target ?? {}) as Node
}

/** The name at the end of a reference; empty if it is not a reference. */
export function referenceName({ $ref }: { readonly $ref?: unknown }): string {
  return typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? '') : ''
}
