import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const api = `openapi: 3.0.3
info: { title: Pet Shop, version: 1.0.0 }
paths:
  /pets:
    get: { operationId: listPets, responses: { '200': { description: ok } } }
    delete: { operationId: freePets, responses: { '204': { description: gone } } }
`

const aShop = () =>
  aProject({ 'api.yaml': api, 'old.yaml': 'swagger: "2.0"\n', 'agent.yaml': 'mine\n' })

describe('drawbridge import openapi', () => {
  test('prints a draft, and says how much of it is to be reviewed', async () => {
    const cwd = await aShop()

    const { code, stdout, stderr } = await drawbridge(['import', 'openapi', 'api.yaml'], { cwd })

    expect(code).toBe(0)
    expect(stdout).toMatch(/^# A draft from OpenAPI 3\.0\.3/)
    expect(stdout).toMatch(
      /- id: free-pets\n.*# review: guessed from DELETE\.\n.*side_effect_level: high/s,
    )
    expect(stderr).toMatch(/^2 capabilities, \d+ places to review\.\n$/)
  })

  test('--out writes it, but never over a file that is there, unless --force', async () => {
    const cwd = await aShop()
    const { stdout: draft } = await drawbridge(['import', 'openapi', 'api.yaml'], { cwd })
    const words = ['import', 'openapi', 'api.yaml', '--out', 'agent.yaml']
    const kept = () => readFile(path.join(cwd, 'agent.yaml'), 'utf8')

    const refused = await drawbridge(words, { cwd })
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/--force/) })
    expect(await kept()).toBe('mine\n')

    const forced = await drawbridge([...words, '--force'], { cwd })
    expect(forced).toMatchObject({ code: 0, stdout: '' })
    expect(await kept()).toBe(draft)
  })

  test('--json has the manifest and the reviews with ids', async () => {
    const cwd = await aShop()

    const { stdout } = await drawbridge(['import', 'openapi', 'api.yaml', '--json'], { cwd })

    const { manifest, reviews } = JSON.parse(stdout)
    expect(manifest).toMatchObject({ identity: { id: 'pet-shop' } })
    expect(reviews[0]).toEqual({ id: '1', path: '/identity/id', message: expect.any(String) })
  })

  test.each([
    ['old.yaml', /old\.yaml:1:10 .*Swagger/],
    ['nowhere.yaml', /nowhere\.yaml does not exist/],
  ])('%s cannot be imported: 2 and one line', async (file, says) => {
    const { code, stdout, stderr } = await drawbridge(['import', 'openapi', file], {
      cwd: await aShop(),
    })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(says)])
  })

  test('another format is refused with those there are', async () => {
    const { code, stderr } = await drawbridge(['import', 'raml', 'api.yaml'], {
      cwd: await aShop(),
    })

    expect(code).toBe(2)
    expect(stderr).toMatch(/raml.*openapi/)
  })
})
