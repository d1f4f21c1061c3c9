"""What the table takes from WordNet: the words it generalises to, the senses meant, and what WordNet lacks.

A sense is written `lemma#n`, WordNet's n-th sense of the noun. GQA's language decides: its "device" is
electronic, its "table" no desk, its "vehicle" may be a train.
"""

from __future__ import annotations

from collections.abc import Iterator

# Word -> the senses whose hyponyms it may be said of; after "but" those left out, with all below them.
KINDS = """
person: person#1
man: man#1
woman: woman#1
child: child#1
player: player#1
athlete: athlete#1
animal: animal#1 but person#1 homo#2
bird: bird#1
fish: fish#1
insect: insect#1
dog: dog#1
cat: cat#1
horse: horse#1
monkey: monkey#1
vehicle: vehicle#1 train#1 bus#1 motorcycle#1 but handcart#1 baby_buggy#1 skateboard#1 sled#1 missile#1
aircraft: aircraft#1 but balloon#1
airplane: airplane#1
watercraft: watercraft#2
boat: boat#1
ship: ship#1
car: car#1
truck: truck#1 but van#5
train: train#1
bicycle: bicycle#1
motorcycle: motorcycle#1
furniture: furniture#1 cupboard#1 shelf#1 drawer#1 but lamp#2
chair: chair#1
table: table#2 dining_table#1 but desk#1 counter#1 counter#4 altar#1 stand#4 booth#1
desk: desk#1
bed: bed#1
couch: couch#1
cabinet: cabinet#1
shelf: shelf#1
food: food#1 food#2 but beverage#1 feed#1 water#6 vitamin#1 diet#1 diet#3 coffee_break#1
fruit: edible_fruit#1
vegetable: vegetable#1 but french_fries#1 home_fries#1 legume#3 mashed_potato#1 sauerkraut#1
meat: meat#1
seafood: seafood#1
cheese: cheese#1
bread: bread#1
baked good: baked_goods#1
pastry: pastry#2
cake: cake#3 but cookie#1 pancake#1 waffle#1 doughnut#2 cracker#1
cookie: cookie#1
pie: pie#1
dessert: dessert#1 cake#3 pie#1 but pancake#1 waffle#1 cracker#1 meat_pie#1 quiche#2 tamale_pie#1
sandwich: sandwich#1
sauce: sauce#1
fast food: french_fries#1 hamburger#1 pizza#1 hotdog#2
beverage: beverage#1
drink: beverage#1
clothing: clothing#1 but helmet#2 mask#1 mask#4 handkerchief#1 jewelry#1 cloth_covering#1
footwear: footwear#2 but horseshoe#2
hat: hat#1
shirt: shirt#1
pants: trouser#1 but short_pants#1
shoe: shoe#1
boot: boot#1
coat: coat#1 but jacket#1
jacket: jacket#1
dress: dress#1
skirt: skirt#2
sweater: sweater#1
glove: glove#1 glove#2
sock: sock#1
jewelry: jewelry#1
helmet: helmet#2
device: electronic_equipment#1 electronic_device#1 computer#1 telephone#1 camera#1 camera#2 calculator#2
    charger#2 remote_control#1 loudspeaker#1 microphone#1 earphone#1 radio#2 television_receiver#1
    computer_keyboard#1
computer: computer#1
phone: telephone#1
camera: camera#1 camera#2
appliance: home_appliance#1 blender#1 mixer#4 but cooler#1 curling_iron#1 flatiron#1
utensil: kitchen_utensil#1 cutlery#2 table_knife#1 but blender#1 mixer#4 cooker#1
cooking utensil: cooking_utensil#1 spatula#1 rolling_pin#1 whisk#1
knife: knife#1 knife#2
pan: pan#1
tool: hand_tool#1 saw#2 power_tool#1
weapon: weapon#1 but missile#1
container: box#1 bottle#1 basket#1 jar#1 bucket#1 can#1 bin#1 canister#2 barrel#2 bag#1 ashcan#1 pitcher#2
    tub#2 backpack#1 jug#1 but pocket#1 mailbox#1 coffin#1 safe#1 air_bag#1 sleeping_bag#1 punching_bag#1
    cash_register#1
bag: bag#1 bag#4 backpack#1 but pocket#1 sleeping_bag#1 air_bag#1 envelope#6 punching_bag#1 beanbag#1
bottle: bottle#1
box: box#1 but coffin#1 safe#1 mailbox#1 cash_register#1 chest#2
basket: basket#1 but shopping_basket#1
cup: cup#1
glass: glass#2
plate: plate#4
bowl: bowl#1 bowl#3
toy: plaything#1
ball: ball#1 ball#6
racket: racket#4
instrument: musical_instrument#1
musical instrument: musical_instrument#1
building: building#1 house#1
house: house#1
tower: tower#1
bridge: bridge#1
door: door#1
window: window#1
fence: fence#1
road: road#1
room: room#1
towel: towel#1
curtain: curtain#1
lamp: lamp#1 lamp#2
clock: clock#1
watch: watch#1
plant: plant#2
tree: tree#1
bush: shrub#1
flower: flower#1 flower#2
"""

# The sense meant in pictures, where it is not the one that stands out in WordNet's counts.
SENSES = """
ashcan: ashcan#1; baby: baby#1; baseball: baseball#2; bear: bear#1; beef: beef#2; blender: blender#1
bracelet: bracelet#2; bunny: bunny#2; burger: hamburger#1; cab: cab#3; calculator: calculator#2
canister: canister#2; carriage: carriage#2; catsup: catsup#1; charger: charger#2; chick: chick#1
chimp: chimp#1; chocolate: chocolate#2; control tower: control_tower#1; corn: corn#3; dove: dove#1
egg: egg#2; father: father#1; ferry: ferry#1; fork: fork#1; fries: fries#1; girl: girl#2; goose: goose#1
guard: guard#1; guy: guy#1; hamburger: hamburger#1; hammer: hammer#2; handbag: handbag#1; hot dog: hot_dog#2
infant: infant#1; jean: jean#1; jersey: jersey#3; jet: jet#1; kid: kid#1; kite: kite#3; lamb: lamb#1
mother: mother#1; mug: mug#4; nurse: nurse#1; officer: officer#3; olive: olive#4; ostrich: ostrich#2
ox: ox#1; photograph: photograph#1; pig: pig#1; pilot: pilot#1; plane: plane#1; plane tree: plane_tree#1
pony: pony#5; printer: printer#2; purse: purse#1; radio: radio#2; refrigerator: refrigerator#1; rock: rock#1
saw: saw#2; seal: seal#9; shrub: shrub#1; soldier: soldier#1; sow: sow#1; speaker: speaker#2
squash: squash#2; stove: stove#1; television: television#3; tie: tie#1; toaster: toaster#2
toddler: toddler#1; trouser: trouser#1; turtle: turtle#2; tv: tv#2; wing chair: wing_chair#1
worker: worker#1; wrench: wrench#3
"""

# Names of several things that pictures show, and names that are no kind of their last word, though they may
# look it (a dog house is no house): the table knows nothing of them.
SILENT = """
arrow, bank, bar, base plate, bat, batter, bay, beast, bed of truck, bed pan, bell, bike, bird house
birdhouse, blade, boater, bottle cap, bow, brake shoe, bread box, bug, car bed, carousel horse, carpet bag
cart, cat tail, chest, chicken, clam, club, coach, coat tree, cone, control box, cooler, cotton ball, counter
court, crab, crane, cream, crystal ball, cup cake, date, disco ball, dog bed, dog house, dog tag, doghouse
doll house, dollhouse, drill, drum, dust pan, ear phone, egg plant, electrical box, face plate, family tree
fan, file, full house, fuse box, game, garden bed, gas cap, gas pump, gingerbread man, grass, hair ball
hat tree, head phone, hobby horse, hood, horse hair, horse shoe, hot plate, hourglass, house boat, hub cap
ice cap, iron, jam, junction box, king, knee cap, lens cap, letter, level, life boat, light box, light house
lobster, looking glass, magnifying glass, mail box, mask, mat, meat ball, mending, menu, metal plate
mirror ball, model, monitor, mouse, murphy, name plate, notebook, number plate, pan cake, pen, penalty box
pepper, pet bed, phone box, pitcher, plant bed, plate glass, play house, playhouse, plier, pot, pound
power box, power plant, press, press box, queen, ram, range, rat, rice ball, ring, river bed, rock bed, ruler
salmon, saw horse, sea horse, seed bed, shoe tree, shot, shrimp, signal box, slug, smoking compartment
snow cap, snow man, spitball, square, stained glass, stand, star, star fruit, stick, storm door, straw man
suction cup, sun glass, switch plate, tank, tea bag, ticket box, tiddler, toe jam, toilet bowl, top
train car, train of thought, tree house, truck bed, trunk, tuna, turkey, urinal cake, utility box, window box
window glass, windshield glass
"""

# Senses whose words are synonyms in pictures, too; the word given stands for all.
SYNONYMS = """
couch#1, car#1, airplane#1, phone#1, television#3, refrigerator#1, rug#1, pail#1, trash_can#1, handbag#1
sneaker#1, doughnut#2, cellphone#1, child#1, baby#1, photograph#1, ax#1, bathing_suit#1, tie#1, microphone#1
violin#1, living_room#1, taxi#1, backpack#1, curtain#1, racket#4, hamburger#1, sunglasses#1, bush#1, catsup#1
clothing#1, building#1, toy#1, ladybug#1, train#1, theater#1, bunny#2, stove#1, rocking_chair#1, yogurt#1
whiskey#1, eggplant#1, apartment_building#1, policeman#1, hippopotamus#1, rhinoceros#1, chimpanzee#1
cougar#1, streetcar#1, sailboat#1, pizza#1, hot_dog#2, french_fries#1, motorcycle#1, bathroom#1
"""

# Synonyms that WordNet does not know as such: other spellings, and what people call each other.
SAME = """
back pack: backpack; bath tub: bathtub; bicyclist: cyclist; book shelf: bookshelf; carpet: rug
cell phone: cellphone; cop: policeman; dad: father; doggy: dog; donut: doughnut; drapes: curtain
eye glass: glasses; eye glasses: glasses; eyeglasses: glasses; fire engine: fire truck; firefighter: fireman
firetruck: fire truck; fridge: refrigerator; garbage bin: trash can; gentleman: man; gray: grey; guy: man
hair dryer: hair drier; hand bag: handbag; human: person; icebox: refrigerator; ketchup: catsup; kitty: cat
lady: woman; mobile phone: cellphone; mom: mother; motorbike: motorcycle; mum: mother
night stand: nightstand; pajama: pajamas; panda bear: panda; photo: photograph
puppy dog: puppy; pyjamas: pajamas; rubbish bin: trash can; ski board: ski; spectacles: glasses
stop light: traffic light; stoplight: traffic light; swimsuit: bathing suit; tee shirt: t-shirt
television set: television; traffic signal: traffic light; trash bin: trash can; trousers: pants
tshirt: t-shirt; tv: television; tv set: television; washing machine: washer
"""

# Kinds of names that WordNet lacks, or files elsewhere.
ALSO = """
archer: person; audience: person; baby: child, person; badger: animal; batter: person, player
beef: meat, food; bell pepper: vegetable, food; beverage: drink; bicyclist: person; bike: vehicle
biker: person; blender: appliance; bodyguard: person, guard; bookshelf: shelf; bride: woman, person
bug: animal, insect; bull: animal; bus driver: person, driver; cable box: device; cactus: plant
cattle: animal; cellphone: phone, device; chef: person; cleat: shoe, footwear; closet: furniture
clown: person; coach: person; computer desk: desk, furniture; computer mouse: device
construction worker: person, worker; controller: device; cook: person; cop: person; copier: device
corn: vegetable, food; couple: person; cowboy hat: hat, clothing; crowd: person; cub: animal
cupcake: cake, dessert, baked good, food; cyclist: person; dinosaur: animal; donut: baked good, food
doughnut: baked good, food, pastry; dress shirt: shirt, clothing; drink: beverage; driver: person
dryer: appliance; dvd player: device; egg: food; end table: table, furniture; entertainment center: furniture
family: person; father: man, person, parent; ferry: boat, vehicle; fire truck: truck, vehicle
firefighter: person; fireman: person; flip flop: footwear; freezer: appliance; fries: fast food, food
frisbee: toy; fruit: food; game controller: controller, device; gentleman: person; glove: clothing
goalie: person, player; grass: plant; groom: man, person; guy: person; head phone: device
heels: shoe, footwear; hen: bird, animal; hot dog: fast food, food; houseplant: plant; ice cream: dessert
instrument: musical instrument; ipad: device; ivy: plant; jacket: clothing; jeans: pants, clothing
judge: person; jumpsuit: clothing; keyboard: device; kid: person; kitchen cabinet: cabinet, furniture
kitchen towel: towel; lady: person; lama: animal; laptop: computer, device; lawn chair: chair, furniture
leggings: clothing; loveseat: couch, furniture; mashed potatoes: food; medicine cabinet: cabinet, furniture
microwave: appliance; minivan: vehicle; mixer: appliance; monitor: device; moped: vehicle
mother: woman, person, parent; motorcyclist: person; neighbor: person; nightstand: furniture; noodle: food
nut: food; office chair: chair, furniture; ostrich: bird, animal; ottoman: furniture; outfit: clothing
overalls: clothing; pajamas: clothing; palm: tree, plant; passenger train: train, vehicle; pastor: person
pedestrian: person; pepperoni: meat, food; photographer: person; pine: tree, plant
plum: fruit, food; polar bear: bear, animal; police officer: person, officer; policeman: person, officer
polo shirt: shirt, clothing; printer: device; recliner: furniture; referee: person; road sign: sign
roast: meat, food; rolling pin: cooking utensil; rooster: bird, animal; router: device; rubber duck: toy
safety jacket: jacket, clothing; salad: food; scooter: vehicle; screen: device; sculptor: person
shopper: person; shorts: clothing; side table: table, furniture; skateboarder: person; skater: person
skier: person; slipper: footwear; snow pants: pants, clothing; snowboarder: person
soccer player: person, player; spectator: person; stereo: device; stop sign: sign; street sign: sign
stuffed animal: toy; stuffed bear: toy; stuffed dog: toy; stuffed toy: toy; surfer: person; suv: car, vehicle
swim trunks: clothing; t-shirt: shirt, clothing; tablet: device; tailor: person; tank top: clothing
team: person; teddy bear: toy; tennis player: person, player; tights: clothing; toddler: child, person
toy airplane: toy; toy car: toy; toy train: toy; toy truck: toy; traffic sign: sign; train engine: vehicle
trolley: vehicle; trunks: clothing; tv stand: furniture; umpire: person; uniform: clothing; van: vehicle
vendor: person; video camera: camera, device; washer: appliance; wetsuit: clothing; wii: device
wii controller: controller, device; worker: person; zebra: animal
"""

# Kinds that WordNet sees and people, or GQA, do not.
NOT = """
cougar: cat; ambulance: car; baseball glove: clothing, glove; baseball mitt: glove, clothing; bench: furniture; bus: car
christmas stocking: clothing; cloisonne: cooking utensil, utensil; culture medium: food
dog biscuit: baked good, cookie, dessert, food; embryo: animal; fetus: animal; fryer: food, meat
hobbyhorse: horse; hood: clothing; jeep: truck; mimosa: beverage, drink; minibus: car; mitt: clothing
msg: food; park bench: furniture; pickle: vegetable; racer: car; rocking horse: horse; sandbox: toy
sandpit: toy; sawhorse: horse; sleeping bag: bag; van: truck; watermelon: vegetable
"""


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a list, `name: what of it`, each on a line or after `;`; an indented line goes on."""
    for line in text.replace("\n    ", " ").replace(";", "\n").splitlines():
        if line.strip():
            name, _, rest = line.partition(":")
            yield name.strip(), rest.strip()


def listed(text: str) -> list[str]:
    """The words of a list that commas or line ends part."""
    return [word.strip() for word in text.replace("\n", ",").split(",") if word.strip()]
