// SPDX-License-Identifier: Apache-2.0
// Builds the console: node build.js [--out DIR] [--packages NODE_MODULES]
//
// src/console, src/frame and src/theme become assets/<name>-<hash>.{js,css}; src/widget.ts becomes /widget.js, whose
// name must stay; pages of static/ get the hashed names in place of {{console.js}} and the like.
// Calls the esbuild program itself, so that any node from 12 on will do.
'use strict';
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');

function option(name, fallback) {
    const at = process.argv.indexOf('--' + name);
    return at < 0 ? fallback : path.resolve(process.argv[at + 1]);
}

const web = __dirname;
const out = option('out', path.join(web, 'dist'));
const packages = option('packages', path.join(web, 'node_modules'));
const esbuild = path.join(packages, '@esbuild', process.platform + '-' + process.arch, 'bin', 'esbuild');

function clear(dir) {
    if (!fs.existsSync(dir)) return;
    for (const entry of fs.readdirSync(dir)) {
        const file = path.join(dir, entry);
        if (fs.statSync(file).isDirectory()) {
            clear(file);
            fs.rmdirSync(file);
        } else {
            fs.unlinkSync(file);
        }
    }
}

// One run of esbuild; returns {entry name: {js, css}} with paths below `out`.
function bundle(entries, args) {
    const meta = path.join(out, 'meta.json');
    const common = ['--bundle', '--minify', '--target=es2020', '--charset=utf8', '--legal-comments=none',
        '--log-level=warning', '--jsx=automatic', '--jsx-import-source=preact', '--outdir=' + out, '--metafile=' + meta,
        '--tsconfig-raw={}'];
    const run = spawnSync(esbuild, entries.concat(common, args),
        { cwd: web, stdio: 'inherit', env: Object.assign({}, process.env, { NODE_PATH: packages }) });
    if (run.status !== 0) process.exit(1);
    const outputs = JSON.parse(fs.readFileSync(meta, 'utf8')).outputs;
    fs.unlinkSync(meta);
    const names = {};
    for (const file of Object.keys(outputs)) {
        if (!outputs[file].entryPoint) continue;
        const below = (f) => '/' + path.relative(out, path.resolve(web, f)).split(path.sep).join('/');
        const name = path.basename(file).replace(/-[0-9A-Z]{8}\.js$/, '').replace(/\.js$/, '');
        names[name + '.js'] = below(file);
        if (outputs[file].cssBundle) names[name + '.css'] = below(outputs[file].cssBundle);
    }
    return names;
}

function pages(names) {
    for (const file of fs.readdirSync(path.join(web, 'static'))) {
        let text = fs.readFileSync(path.join(web, 'static', file), 'utf8');
        if (file.endsWith('.html')) {
            text = text.replace(/\{\{([\w.]+)\}\}/g, (_, name) => {
                if (!names[name]) throw new Error(file + ': nothing was built that is called ' + name);
                return names[name];
            });
        }
        fs.writeFileSync(path.join(out, file), text);
    }
}

// What the licences of the packages inside ask for.
function licences() {
    const text = ['preact', 'uplot'].map((name) =>
        name + '\n\n' + fs.readFileSync(path.join(packages, name, 'LICENSE'), 'utf8').trim() + '\n');
    fs.writeFileSync(path.join(out, 'licences.txt'), 'The console contains:\n\n' + text.join('\n'));
}

clear(out);
if (!fs.existsSync(esbuild)) {
    console.error('build.js: no ' + esbuild + ': run npm ci first. The console is left out.');
    process.exit(process.argv.includes('--out') ? 0 : 1); // under cmake: a page says so
}
fs.mkdirSync(out, { recursive: true });
const names = Object.assign(
    bundle(['console=src/console/main.tsx', 'frame=src/frame/main.tsx'], ['--format=esm', '--entry-names=assets/[name]-[hash]']),
    bundle(['theme=src/theme.ts'], ['--format=iife', '--entry-names=assets/[name]-[hash]']),
    bundle(['widget=src/widget.ts'], ['--format=iife', '--entry-names=[name]']));
pages(names);
licences();
